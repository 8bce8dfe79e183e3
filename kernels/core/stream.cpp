#include "kernels/core/stream.hpp"

#include <weft/kernels/stream.hpp>

#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"

namespace weft::kernels {
namespace {

Status wait(const Runtime& runtime, Stream stream) {
  ASSIGN_OR_RETURN(const Target target, target_of(runtime));
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (target == Target::kCuda) return cuda::synchronize_stream(stream);
#endif
  return target == Target::kCpu ? cpu::synchronize_stream(stream)
                                : Status::error(Code::kInternal, "a GPU without kernels for it");
}

}  // namespace

Status synchronize(const Runtime& runtime, Stream stream) { return report(wait(runtime, stream)); }

}  // namespace weft::kernels
