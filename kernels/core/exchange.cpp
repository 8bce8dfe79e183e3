#include "kernels/core/exchange.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>

#include "kernels/core/gpu_identity.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

using Words = std::vector<std::uint64_t>;

// The words of all PEs, in their order.
Result<std::vector<Words>> exchange_words(Runtime& runtime, const Words& mine) {
  const auto npes = static_cast<std::size_t>(runtime.npes());
  const std::size_t count = mine.size();
  ASSIGN_OR_RETURN(auto* const words, runtime.allocate<std::uint64_t>((1 + npes) * count));
  std::copy(mine.begin(), mine.end(), words);
  Status status = fcollect_bytes(runtime.context(), runtime.world(), words + count, words,
                                 count * sizeof(std::uint64_t));
  std::vector<Words> all;
  for (std::size_t pe = 1; pe <= npes; ++pe)
    all.emplace_back(words + pe * count, words + (pe + 1) * count);
  if (status) status = runtime.barrier();
  const Status freed = runtime.free(words);
  if (!status) return status;
  if (!freed) return freed;
  return all;
}

// The value that all have been given, or that others have of what may be none.
Result<std::uint64_t> agreed(const char* who, const Given& given, const std::vector<Words>& all,
                             std::size_t at) {
  const auto is_none = [&](std::size_t pe) { return given.may_be_none && all[pe][at] == 0; };
  std::size_t first = 0;  // who has any
  while (first + 1 < all.size() && is_none(first)) ++first;
  for (std::size_t pe = first; pe < all.size(); ++pe) {
    if (all[pe][at] == all[first][at] || is_none(pe)) continue;
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: {} is {} on PE {}, but {} on PE {}; all PEs must give the same", who,
                    given.name, all[first][at], first, all[pe][at], pe));
  }
  return all[first][at];
}

// Whether I, if I am a member, map all others. My offset 0 stands for all my memory.
Result<bool> maps_members(Runtime& runtime, const Team& team) {
  ASSIGN_OR_RETURN(const DeviceContext handle, runtime.context().device());
  for (int rank = 0; team.is_member() && rank < team.size; ++rank)
    if (runtime.context().ptr(handle.heap, team.pe_of(rank)) == nullptr) return false;
  return true;
}

// The words of a PE behind those that were given.
enum Own { kMaps, kGpu, kNumSms, kClusters, kFromFirst, kOwns };

Result<Words> own_words(Runtime& runtime, const Team& team, const Facts& facts) {
  GpuIdentity gpu;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (runtime.gpu() >= 0) {
    ASSIGN_OR_RETURN(gpu, identity_of_current_gpu());
  }
#endif
  ASSIGN_OR_RETURN(const bool maps, maps_members(runtime, team));
  Words words(kOwns);
  words[kMaps] = maps ? 1 : 0;
  words[kGpu] = gpu.number;
  words[kNumSms] = static_cast<std::uint64_t>(gpu.num_sms);
  words[kClusters] = gpu.clusters ? 1 : 0;
  words[kFromFirst] = facts.from_first;
  words.insert(words.end(), facts.measures.begin(), facts.measures.end());
  return words;
}

GpuShare share_of(const std::vector<Words>& all, std::size_t own) {
  GpuShare share{static_cast<int>(all[0][own + kNumSms]), 1, true};
  std::map<std::uint64_t, int> sharers;  // of each GPU
  for (const Words& pe : all) {
    share.clusters = share.clusters && pe[own + kClusters] == 1;
    share.num_sms = std::min(share.num_sms, static_cast<int>(pe[own + kNumSms]));
    share.sharers = std::max(share.sharers, ++sharers[pe[own + kGpu]]);
  }
  return share.num_sms == 0 ? GpuShare{} : share;
}

}  // namespace

Result<Agreement> exchange(Runtime& runtime, const Team& team, const Facts& facts) {
  std::vector<Given> given = facts.given;
  given.push_back(
      {"the team's size", static_cast<std::uint64_t>(team.is_member() ? team.size : 0), true});
  Words mine;
  for (const Given& each : given) mine.push_back(each.value);
  ASSIGN_OR_RETURN(const Words own, own_words(runtime, team, facts));
  mine.insert(mine.end(), own.begin(), own.end());
  ASSIGN_OR_RETURN(const std::vector<Words> all, exchange_words(runtime, mine));

  std::uint64_t last = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    ASSIGN_OR_RETURN(last, agreed(facts.who, given[i], all, i));
  }
  const std::size_t behind = given.size();
  Agreement made;
  made.team_size = std::max(1, static_cast<int>(last));
  made.maps_all =
      std::all_of(all.begin(), all.end(), [&](const Words& pe) { return pe[behind + kMaps] == 1; });
  made.gpu = share_of(all, behind);
  made.from_first = all[0][behind + kFromFirst];
  made.measures = facts.measures;
  for (const Words& pe : all)
    for (std::size_t i = 0; i < made.measures.size(); ++i)
      made.measures[i] = std::min(made.measures[i], pe[behind + kOwns + i]);
  return made;
}

}  // namespace weft::kernels
