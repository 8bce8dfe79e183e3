#include <weft/device.hpp>

#include "kernels/core/stream.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

Status synchronize_stream(Stream stream) { return dev::synchronize(stream); }

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
