// The collectives' kernels, compiled for each target: which one a call is.
#include <weft/device.hpp>

#include "kernels/collectives/all_gather/dispatch.hpp"
#include "kernels/collectives/all_reduce/dispatch.hpp"
#include "kernels/collectives/all_to_all_v/dispatch.hpp"
#include "kernels/collectives/broadcast/dispatch.hpp"
#include "kernels/collectives/call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

Status run_call(const Call& call, Stream stream) {
  switch (call.what) {
    case Collective::kAllGather:
    case Collective::kAllToAll: return all_gather(call, stream);
    case Collective::kBroadcast: return broadcast(call, stream);
    case Collective::kAllToAllV: return all_to_all_v(call, stream);
    case Collective::kAllReduceNorm: return run_norm(call, stream);
    default: break;
  }
  switch (call.dtype) {
    case DType::kFloat32: return reduce<float>(call, stream);
    case DType::kFloat16: return reduce<Half>(call, stream);
    case DType::kBfloat16: return reduce<Bfloat16>(call, stream);
    case DType::kInt32: return reduce<std::int32_t>(call, stream);
    case DType::kUint8: return reduce<std::uint8_t>(call, stream);
    case DType::kFloat8E4m3: break;  // check_problem() has refused it
  }
  return Status::error(Code::kInternal, "a collective of a type without kernels");
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
