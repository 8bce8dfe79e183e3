// AllReduceNorm's kernels, compiled for each target.
#include <weft/device.hpp>

#include "kernels/collectives/all_reduce_norm/algorithms.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

Status run_norm(const NormCall& call, Stream stream) { return NormAlgorithms::run(call, stream); }
AlgorithmSpan norm_algorithms() { return NormAlgorithms::traits(); }

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
