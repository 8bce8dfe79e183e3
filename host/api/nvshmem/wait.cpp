// Waits and tests behind the names of wait.def.h.
#include <cstdint>

#include "host/api/nvshmem/signal.hpp"
#include "host/api/nvshmem/state.hpp"
#include "host/api/wait_forms.hpp"

namespace weft::nvshmem {
namespace {

struct Waits : WaitForms<Call, comparison> {
  // An atomic, since the word may lie on the GPU.
  static std::uint64_t signal_fetch(const char* routine, const std::uint64_t* sig_addr) {
    std::uint64_t value = 0;
    if (Call call(routine); call)
      settle(call->amo_bytes(Amo::kFetch, const_cast<std::uint64_t*>(sig_addr), sizeof(value), 0, 0,
                             &value, call->pe()));
    return value;
  }
};

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "wait.def.h"
#define WEFT_NVSHMEM_BOTH(R, name, params, body, args) \
  WEFT_NVSHMEM_DEFINE(R, name, params, Waits::body, args)
#include <nvshmem/host/routines.def.h>
