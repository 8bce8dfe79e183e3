// The process default that NVSHMEM's names stand on: one Runtime, and the teams behind the numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <weft/runtime.hpp>

#include "host/api/nvshmem/names.hpp"

namespace weft::nvshmem {

// Null, and reported, outside of nvshmem_init ... nvshmem_finalize.
Runtime* runtime(const char* routine);
// The same without a word.
Runtime* runtime_if_any();
// The level that nvshmem_init_thread was asked for.
int thread_level();
// The nvshmemx_status of a failure.
int error_code(const Status& status);
// Reports "ROUTINE: WHY" and returns error_code() of it.
int refuse(const char* routine, Code code, std::string_view why,
           const char* file = __builtin_FILE(), int line = __builtin_LINE());

// The end of a routine that cannot return an error. A call that was wrong has been reported and
// returns; after any other failure the job ends.
[[gnu::cold]] void settle_failure(const Status& status);
inline void settle(const Status& status) {
  if (!status) [[unlikely]]
    settle_failure(status);
}

// One call of a routine, which failures name: `if (Call call("nvshmem_quiet"); call)
// call->quiet()`. False, and reported, if there is no runtime.
class Call {
 public:
  explicit Call(const char* routine) : name_(routine), runtime_(runtime(routine)) {}
  explicit operator bool() const { return runtime_ != nullptr; }
  Runtime& runtime_of() const { return *runtime_; }
  Context& context() const { return runtime_->context(); }
  void settle(const Status& failure) const { settle_failure(failure); }
  Context* operator->() const { return &context(); }

 private:
  static Runtime* runtime(const char* routine) { return weft::nvshmem::runtime(routine); }
  CallerName name_;
  Runtime* runtime_;
};

// --- teams (team.cpp) ----------------------------------------------------------------------------

// Behind a nvshmem_team_t.
struct TeamPlace {
  Team team;
  Context* context = nullptr;  // its collectives'; null: the team is not there
  nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
};

// Null, and reported, for what is no team of mine.
const TeamPlace* admit(const char* routine, nvshmem_team_t team);
// The predefined teams, and the end of all.
Status start_teams(Runtime& rt);
void stop_teams();

// --- between the files ---------------------------------------------------------------------------

// Forgets what was registered (memory.cpp), at the end.
void forget_buffers();

// --- kernels (kernels.cpp) -----------------------------------------------------------------------

// Most teams that there can be at a time: numbers are below it.
std::size_t most_teams(const Runtime& rt);
// Symmetric memory for the teams that kernels see.
Status start_kernels(Runtime& rt);
// Sets the team that kernels find for the number from now on.
Status show_team(Runtime& rt, nvshmem_team_t number, const Team& team);
// The modules of this program learn where the runtime is; one that is loaded later learns it then.
Status tell_modules(Runtime& rt);
// A library that is being loaded may come before CUDA knows it.
void tell_modules_that_wait(Runtime& rt);
// They learn that there is none any more.
void stop_kernels(Runtime& rt);
// Modules that the driver has loaded; what nvshmemx_cumodule_init and its kin return.
int module_init(const char* routine, CUmodule module);
int module_finalize(const char* routine, CUmodule module);
int library_init(const char* routine, CUlibrary library);
int library_finalize(const char* routine, CUlibrary library);

// --- environment (environment.cpp)
// ---------------------------------------------------------------------------------

// NVSHMEM_SYMMETRIC_SIZE and others, where Weft's own do not say otherwise.
Status read_environment(Options* options);
// Prints on PE 0 what they ask for.
void greet(const Runtime& rt);

}  // namespace weft::nvshmem
