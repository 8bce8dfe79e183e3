// Waits and tests behind the names of wait.def.h.
#include <cstdint>

#include "host/api/shmem/state.hpp"
#include "host/api/wait_forms.hpp"
#include "src/base/clock.hpp"

namespace weft::shmem {
namespace {

// The same order in both; what is not a comparison, the wait refuses.
Cmp comparison(int cmp) {
  static_assert(SHMEM_CMP_EQ == static_cast<int>(Cmp::kEq));
  static_assert(SHMEM_CMP_NE == static_cast<int>(Cmp::kNe));
  static_assert(SHMEM_CMP_GT == static_cast<int>(Cmp::kGt));
  static_assert(SHMEM_CMP_GE == static_cast<int>(Cmp::kGe));
  static_assert(SHMEM_CMP_LT == static_cast<int>(Cmp::kLt));
  static_assert(SHMEM_CMP_LE == static_cast<int>(Cmp::kLe));
  constexpr int kNone = 255;
  return static_cast<Cmp>(cmp >= 0 && cmp < kNone ? cmp : kNone);
}

// One call of a routine of the default context, which failures name.
class Call {
 public:
  explicit Call(const char* routine)
      : context_(admit(routine, SHMEM_CTX_DEFAULT)), name_(routine) {}
  explicit operator bool() const { return context_ != nullptr; }
  Context& context() const { return *context_; }
  void settle(const Status& failure) const { settle_failure(failure); }

 private:
  Context* context_;
  CallerName name_;
};

struct Waits : WaitForms<Call, comparison> {
  template <class T>
  static void old_wait(const char* routine, const T* ivar, T value) {
    wait_until(routine, ivar, SHMEM_CMP_NE, value);
  }

  // A loop of loads ends when the job does: one in so many looks.
  static std::uint64_t signal_fetch(const char* routine, const std::uint64_t* sig_addr) {
    if (default_ctx.quick == nullptr || --loads_until_look == 0) [[unlikely]]
      return look_and_fetch(routine, sig_addr);
    return weft::signal_fetch(sig_addr);
  }

 private:
  static constexpr unsigned kLoadsPerLook = 1024;
  static inline constinit thread_local unsigned loads_until_look
      [[gnu::tls_model("initial-exec")]] = kLoadsPerLook;

  [[gnu::noinline, gnu::cold]] static std::uint64_t look_and_fetch(const char* routine,
                                                                   const std::uint64_t* sig_addr) {
    constexpr std::uint64_t kBetweenLooks = 100'000'000;  // ns
    static thread_local std::uint64_t looked_at = 0;
    loads_until_look = kLoadsPerLook;
    if (admit(routine, SHMEM_CTX_DEFAULT) == nullptr) return 0;
    const std::uint64_t now = now_ns();
    if (now - looked_at >= kBetweenLooks) {
      looked_at = now;
      const CallerName name(routine);
      settle(runtime(routine)->health());
    }
    return weft::signal_fetch(sig_addr);
  }
};

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "wait.def.h"
#define WEFT_SHMEM_ROUTINE(R, name, params, body, args) \
  WEFT_SHMEM_DEFINE(R, name, params, Waits::body, args)
#include <shmem/families.def.h>
