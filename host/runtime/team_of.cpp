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

// What the words are for. Each is put back to zero by the PE in whose heap it lies, before anybody
// is told to go on to where it is used next.
enum Word : std::size_t {
  kArrived,   // at the first: how many have left their ids
  kVerdict,   // at the others: kIdOffset + the id that all have free; kNone
  kReady,     // at the first: how many have made their block ready
  kRelease,   // at the others: all have
  kTakenIds,  // at the first, from here on: ids that somebody has in use
};
constexpr std::uint64_t kNone = 1, kIdOffset = 2;
constexpr std::size_t kIdWords = Runtime::kTeamWords - kTakenIds;

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

// One PE's part in a meeting. Puts and atomics of `ctx` bring the words; quiet before each arrival
// orders them, and the wait's acquire pairs with the release of the word that it sees.
class TeamMeeting {
 public:
  TeamMeeting(Context& ctx, std::uint64_t* words, const Pes& pes)
      : ctx_(ctx), words_(words), pes_(pes), first_(pes.front() == ctx.pe()) {}

  // The lowest id that all have free; -1: there is none.
  Result<int> agree(const IdMask& free_ids) {
    const std::vector<std::uint64_t>& bits = free_ids.bits();
    const std::size_t words = std::min(bits.size(), kIdWords);
    if (!first_) {
      for (std::size_t i = 0; i < words; ++i)
        RETURN_IF_ERROR(ctx_.atomic_or(words_ + kTakenIds + i, ~bits[i], pes_.front()));
      RETURN_IF_ERROR(arrive(kArrived));
      ASSIGN_OR_RETURN(const std::uint64_t verdict, take(kVerdict, 1));
      return verdict == kNone ? -1 : static_cast<int>(verdict - kIdOffset);
    }
    RETURN_IF_ERROR(take(kArrived, others()).status());
    std::uint64_t free[kIdWords];
    for (std::size_t i = 0; i < words; ++i)
      free[i] = bits[i] & ~std::exchange(words_[kTakenIds + i], 0);
    const int id = IdMask::lowest(free, words);
    RETURN_IF_ERROR(tell(kVerdict, id < 0 ? kNone : kIdOffset + static_cast<std::uint64_t>(id)));
    return id;
  }

  // Everybody has come here.
  Status sync() {
    if (!first_) {
      RETURN_IF_ERROR(arrive(kReady));
      return take(kRelease, 1).status();
    }
    RETURN_IF_ERROR(take(kReady, others()).status());
    return tell(kRelease, 1);
  }

 private:
  std::uint64_t others() const { return pes_.size() - 1; }

  Status arrive(Word word) {
    RETURN_IF_ERROR(ctx_.quiet());
    return ctx_.atomic_inc(words_ + word, pes_.front());
  }
  // Waits for `wanted` or more in a word of mine, and puts it back to zero.
  Result<std::uint64_t> take(Word word, std::uint64_t wanted) {
    if (wanted == 0) return std::uint64_t{0};
    ASSIGN_OR_RETURN(const std::uint64_t seen,
                     signal_wait_until(ctx_, words_ + word, Cmp::kGe, wanted));
    words_[word] = 0;
    return seen;
  }
  Status tell(Word word, std::uint64_t value) {
    for (const int pe : pes_)
      if (pe != ctx_.pe()) RETURN_IF_ERROR(ctx_.signal(set(words_ + word, value), pe));
    return ctx_.quiet();
  }

  Context& ctx_;
  std::uint64_t* const words_;
  const Pes& pes_;
  const bool first_;
};

}  // namespace

Result<Team> Runtime::Impl::meet_in(std::uint64_t* words, const Pes& pes) {
  TeamMeeting meeting(*own, words, pes);
  ASSIGN_OR_RETURN(const int id, meeting.agree(free_ids));
  if (id < 0)
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{}: no team id is free on all {} PEs: there can be {} teams at a time "
                    "(WEFT_MAX_TEAMS, the 3 predefined ones included; ids above {} need a parent); "
                    "destroy one, or set a larger WEFT_MAX_TEAMS, the same on every PE",
                    kRoutine, pes.size(), job->options.max_teams, 64 * kIdWords - 1));
  Result<Team> team = enter_new_team(id, pes);
  RETURN_IF_ERROR(meeting.sync());
  return team;
}

Result<Team> Runtime::team_of(const std::vector<int>& pes, std::uint64_t* words) {
  const std::lock_guard lock(impl_->mutex);
  const auto make = [&]() -> Result<Team> {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(check_members(pes, npes(), pe()));
    RETURN_IF_ERROR(check_aligned(kRoutine, "words", words, sizeof(*words)));
    RETURN_IF_ERROR(check_symmetric(*impl_->job->heap, kRoutine, "words", words,
                                    kTeamWords * sizeof(*words), options().check)
                        .status());
    return impl_->meet_in(words, Pes(pes.begin(), pes.end()));
  };
  auto team = make();
  if (!team) return report(team.status());
  return team;
}

}  // namespace weft
