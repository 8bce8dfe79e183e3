// How routines end that have no way to return an error: OpenSHMEM's and NVSHMEM's void ones, and
// those that return a value.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <weft/runtime.hpp>
#include <weft/status.hpp>

namespace weft {

// The call was wrong, and nothing was done.
inline bool is_misuse(Code code) {
  return code == Code::kInvalidArgument || code == Code::kOutOfRange ||
         code == Code::kNotSymmetric || code == Code::kUnsupported;
}

// The routine can never do what it promises: a PE is lost, a wait has reached its limit, an
// operation has failed. It must not return as if it had, so the job ends. Destructors and exit
// handlers do not run: they may wait for this very routine.
[[noreturn, gnu::cold]] inline void end_job(Runtime* runtime, const Status& why) {
  report(why).ignore();
  if (runtime != nullptr && !why.is(Code::kAborted)) runtime->abort(1, why.text());
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace weft
