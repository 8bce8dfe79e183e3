// CollectiveCall: what the calls of all collectives have in common, as the host hands them to the
// kernels of a target. Plain data, to which a collective adds its own in COLLECTIVE/call.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/kernels/plan.hpp>
#include <weft/kernels/types.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"
#include "kernels/protocol/workspace.hpp"

namespace weft::kernels {

// Where the messages of a call lie: what goes to rank d begins at in + d * in_stride, what comes
// from rank s at out + s * out_stride. Both of `bytes`.
struct Messages {
  std::byte* out = nullptr;
  const std::byte* in = nullptr;
  std::size_t in_stride = 0, out_stride = 0;
  std::size_t bytes = 0;
  // Null, or what every fold ends with: laid out as out, which it may be.
  const std::byte* addend = nullptr;
  // For kernels by LL: null, or where the units of out go, too.
  std::uint64_t* copy = nullptr;
};

struct CollectiveCall {
  DeviceContext handle;
  Team team;
  Workspace space;
  Messages messages;
  Plan plan;
  DType dtype = DType::kFloat32;
  bool starts_early = false;  // kernels that can: the GPU has programmatic dependent launch
};

template <class Call>
using RunCall = Status(const Call& call, Stream stream);

// Declares functions once per target; the definitions are compiled from one source. Nothing starts
// those for HIP yet.
#define WEFT_OF_EACH_TARGET(...) \
  namespace cpu {                \
  __VA_ARGS__;                   \
  }                              \
  namespace cuda {               \
  __VA_ARGS__;                   \
  }                              \
  namespace hip {                \
  __VA_ARGS__;                   \
  }

// The function of the runtime's target. Without kernels for GPUs no runtime with one gets so far.
#if defined(WEFT_HAS_CUDA_KERNELS)
#define WEFT_OF_TARGET(gpu, function) ((gpu) ? &cuda::function : &cpu::function)
#else
#define WEFT_OF_TARGET(gpu, function) (&cpu::function)
#endif

}  // namespace weft::kernels
