#include <weft/device.hpp>

#include "kernels/c_api/runtime.hpp"

namespace weft::kernels::c_api {
namespace WEFT_TARGET {

Status synchronize_stream(Stream stream) { return dev::synchronize(stream); }

}  // namespace WEFT_TARGET
}  // namespace weft::kernels::c_api
