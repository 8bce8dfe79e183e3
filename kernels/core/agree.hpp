// What every PE of a job must have been given alike: operators ask before they rely on it, so that
// a difference is an error on all of them and not a wait for ever.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/result.hpp>
#include <weft/runtime.hpp>

namespace weft::kernels {

// The words of all PEs, in their order, as many of each. Collective over the job, and a barrier.
Result<std::vector<std::vector<std::uint64_t>>> exchange_words(
    Runtime& runtime, const std::vector<std::uint64_t>& mine);

struct Given {
  const char* name;
  std::uint64_t value;
  bool may_be_none = false;  // where it is 0, that PE has none
};
// The values; of those that may be none, what others have. kInvalidArgument on all PEs where one
// was given something else: `who` says what and where. Collective, as exchange_words().
Result<std::vector<std::uint64_t>> agree(Runtime& runtime, const char* who,
                                         const std::vector<Given>& mine);

}  // namespace weft::kernels
