#include "kernels/core/agree.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <weft/collective.hpp>

#include "kernels/core/status.hpp"

namespace weft::kernels {

Result<std::vector<std::vector<std::uint64_t>>> exchange_words(
    Runtime& runtime, const std::vector<std::uint64_t>& mine) {
  const auto npes = static_cast<std::size_t>(runtime.npes());
  const std::size_t count = mine.size();
  ASSIGN_OR_RETURN(auto* const words, runtime.allocate<std::uint64_t>((1 + npes) * count));
  std::copy(mine.begin(), mine.end(), words);
  Status status = fcollect_bytes(runtime.context(), runtime.world(), words + count, words,
                                 count * sizeof(std::uint64_t));
  std::vector<std::vector<std::uint64_t>> all;
  for (std::size_t pe = 1; pe <= npes; ++pe)
    all.emplace_back(words + pe * count, words + (pe + 1) * count);
  if (status) status = runtime.barrier();
  const Status freed = runtime.free(words);
  if (!status) return status;
  if (!freed) return freed;
  return all;
}

Result<std::vector<std::uint64_t>> agree(Runtime& runtime, const char* who,
                                         const std::vector<Given>& mine) {
  std::vector<std::uint64_t> values;
  for (const Given& given : mine) values.push_back(given.value);
  std::vector<std::vector<std::uint64_t>> all;
  ASSIGN_OR_RETURN(all, exchange_words(runtime, values));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::size_t first = 0;  // who has any
    const auto is_none = [&](std::size_t pe) { return mine[i].may_be_none && all[pe][i] == 0; };
    while (first + 1 < all.size() && is_none(first)) ++first;
    for (std::size_t pe = first; pe < all.size(); ++pe) {
      if (all[pe][i] == all[first][i] || is_none(pe)) continue;
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("{}: {} is {} on PE {}, but {} on PE {}; all PEs must give the same", who,
                      mine[i].name, all[first][i], first, all[pe][i], pe));
    }
    values[i] = all[first][i];
  }
  return values;
}

}  // namespace weft::kernels
