// A team that its members make among themselves: they meet in a few words of the first one's heap.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <weft/wait.hpp>

#include "host/context/check.hpp"
#include "host/runtime/impl.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr const char* kRoutine = "team_of";

// Uses of the words. Each is put back to zero by the PE in whose heap it lies, before anybody
// goes on to where it is used next.
enum Word : std::size_t {
  kArrived,      // at the first: how many have left their bits
  kVerdict,      // at the others: kNone + 1 + the lowest bit that all have; kNone
  kMissingBits,  // at the first, from here on: bits that somebody lacks
};
constexpr std::uint64_t kNone = 1;
constexpr std::size_t kIdWords = Runtime::kTeamWords - kMissingBits;

Status check_members(const std::vector<int>& pes, int npes, int me) {
  std::vector<int> sorted = pes;
  std::sort(sorted.begin(), sorted.end());
  if (pes.empty())
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: the list of PEs is empty", kRoutine));
  for (const int pe : pes) RETURN_IF_ERROR(check_pe(kRoutine, pe, npes));
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: PE {} is in the list twice", kRoutine, *twice));
  if (!std::binary_search(sorted.begin(), sorted.end(), me))
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: PE {} is not in the list of {} PEs; only members call",
                                     kRoutine, me, pes.size()));
  return Status::ok();
}

// One PE's part in it. Puts and atomics of `ctx` bring the words; quiet before each arrival
// orders them, and the wait's acquire pairs with the release of the word that it sees.
class TeamRendezvous {
 public:
  TeamRendezvous(Context& ctx, std::uint64_t* words, const Pes& pes)
      : ctx_(ctx), words_(words), pes_(pes), first_(pes.front() == ctx.pe()) {}

  // TeamIds::LowestOfAll. A PE that leaves it knows that all have come.
  Result<int> lowest_of_all(const TeamIds::Bits& mine) {
    const std::size_t words = std::min(mine.size(), kIdWords);
    if (!first_) {
      for (std::size_t i = 0; i < words; ++i)
        RETURN_IF_ERROR(ctx_.atomic_or(words_ + kMissingBits + i, ~mine[i], pes_.front()));
      RETURN_IF_ERROR(arrive());
      ASSIGN_OR_RETURN(const std::uint64_t verdict, take(kVerdict, 1));
      return static_cast<int>(verdict - kNone) - 1;
    }
    RETURN_IF_ERROR(take(kArrived, others()).status());
    std::uint64_t all[kIdWords];
    for (std::size_t i = 0; i < words; ++i)
      all[i] = mine[i] & ~std::exchange(words_[kMissingBits + i], 0);
    const int lowest = IdMask::lowest(all, words);
    RETURN_IF_ERROR(tell(kNone + 1 + static_cast<std::uint64_t>(lowest)));
    return lowest;
  }

 private:
  std::uint64_t others() const { return pes_.size() - 1; }

  Status arrive() {
    RETURN_IF_ERROR(ctx_.quiet());
    return ctx_.atomic_inc(words_ + kArrived, pes_.front());
  }
  // Waits for `wanted` or more in a word of mine, and puts it back to zero.
  Result<std::uint64_t> take(Word word, std::uint64_t wanted) {
    if (wanted == 0) return std::uint64_t{0};
    ASSIGN_OR_RETURN(const std::uint64_t seen,
                     signal_wait_until(ctx_, words_ + word, Cmp::kGe, wanted));
    words_[word] = 0;
    return seen;
  }
  Status tell(std::uint64_t verdict) {
    for (const int pe : pes_)
      if (pe != ctx_.pe()) RETURN_IF_ERROR(ctx_.signal(set(words_ + kVerdict, verdict), pe));
    return ctx_.quiet();
  }

  Context& ctx_;
  std::uint64_t* const words_;
  const Pes& pes_;
  const bool first_;
};

}  // namespace

Result<Team> Runtime::Impl::make_among(std::uint64_t* words, const Pes& pes) {
  TeamRendezvous sync_all(*own, words, pes);
  ASSIGN_OR_RETURN(const Offset at, job->heap->offset_of(words, 0));
  return make_together(
      kRoutine, {TeamIds::kWords, to_u64(at)}, pes,
      [&](const TeamIds::Bits& mine) { return sync_all.lowest_of_all(mine); },
      fmt::format("{} PEs", pes.size()),
      fmt::format("; ids above {} need a parent", 64 * kIdWords - 1));
}

Result<Team> Runtime::team_of(const std::vector<int>& pes, std::uint64_t* words) {
  const auto make = [&]() -> Result<Team> {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(check_members(pes, npes(), pe()));
    RETURN_IF_ERROR(check_aligned(kRoutine, "words", words, sizeof(*words)));
    RETURN_IF_ERROR(check_symmetric(*impl_->job->heap, kRoutine, "words", words,
                                    kTeamWords * sizeof(*words), options().check)
                        .status());
    return impl_->make_among(words, Pes(pes.begin(), pes.end()));
  };
  auto team = make();
  if (!team) return report(team.status());
  return team;
}

}  // namespace weft
