// Teams: the parent's members agree on an id that all of them have free, and on the arguments.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/dev/team_block.hpp>

#include "host/runtime/impl.hpp"
#include "host/team/hosts.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

// Arguments as one word: equal arguments, equal words.
class Digest {
 public:
  Digest& add(std::int64_t value) {
    word_ = (word_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    word_ ^= word_ >> 32;
    return *this;
  }
  std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_ = 1;
};

bool same_value(const Team& a, const Team& b) {
  return a.id == b.id && a.start == b.start && a.stride == b.stride && a.size == b.size &&
         a.rank == b.rank && a.list == b.list;
}

std::string name(const Team& team) {
  return fmt::format("team {} (size {}, rank {})", team.id, team.size, team.rank);
}

}  // namespace

// A team of mine, as this runtime made it.
Status Runtime::Impl::check_team(const char* routine, const Team& team) {
  std::unique_lock lock(teams_mutex);
  const bool known = team.id >= 0 && static_cast<std::size_t>(team.id) < teams.size() - 1 &&
                     same_value(team, teams[static_cast<std::size_t>(team.id)]);
  lock.unlock();
  if (known) return Status::ok();
  if (!team.is_member())
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: PE {} is not a member of the team; only members call",
                                     caller_or(routine), job->pe));
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: {} is not a live team of this runtime: it was destroyed, changed, or comes "
                  "from another runtime",
                  caller_or(routine), name(team)));
}

// One reduction over the parent: AND of the bits, and of the arguments' digest and of its
// complement. If the arguments are the same on all, each bit survives in one of the two. The words
// are the parent's own, as no two threads are in calls on one team at a time.
Result<int> Runtime::Impl::lowest_of_parent(const char* routine, const Team& parent,
                                            std::uint64_t arguments, const TeamIds::Bits& mine) {
  const std::size_t words = mine.size();
  const std::size_t each = words_of_parent(static_cast<int>(job->options.max_teams));
  std::uint64_t* const in = id_words + static_cast<std::size_t>(parent.id) * each;
  std::uint64_t* const all = in + each / 2;
  std::copy(mine.begin(), mine.end(), in);
  in[words] = arguments;
  in[words + 1] = ~arguments;
  RETURN_IF_ERROR(reduce(*own, parent, all, in, words + 2, ReduceOp::kAnd));
  if ((all[words] | all[words + 1]) == ~std::uint64_t{0}) return IdMask::lowest(all, words);
  return Status::error(
      Code::kNotSymmetric,
      fmt::format("{}: the members of the parent, {}, came with different arguments or calls; "
                  "all must make the same call",
                  caller_or(routine), name(parent)));
}

Team Runtime::Impl::enter_team(int id, const Pes& pes) {
  const int rank = rank_in(pes, job->pe);
  if (rank < 0) return Team{};
  const std::optional<Team> strided = strided_team(pes);
  Team team = strided.value_or(Team{});
  if (!strided) {
    std::int32_t* const list = list_of(id);
    std::copy(pes.begin(), pes.end(), list);
    team.list = list;
    team.start = pes.front();
    team.size = static_cast<std::int32_t>(pes.size());
  }
  team.id = id;
  team.rank = rank;
  const std::lock_guard lock(teams_mutex);
  teams[static_cast<std::size_t>(id)] = team;
  return team;
}

// In my block; but kernels on a GPU do not reach that.
std::int32_t* Runtime::Impl::list_of(int id) const {
  if (job->gpu != nullptr) return job->gpu->team_list(id);
  const TeamLayout layout = team_layout(job->teams, job->npes);
  return reinterpret_cast<std::int32_t*>(job->heap->range().base +
                                         team_block_offset(job->teams, id) + layout.list);
}

// Makes my blocks ready; others must not send to them before they know that.
Result<Team> Runtime::Impl::enter_new_team(int id, const Pes& pes) {
  if (job->gpu != nullptr) RETURN_IF_ERROR(job->gpu->reset_team(id));
  std::byte* const block = job->heap->range().base + team_block_offset(job->teams, id);
  reset_team_block(block, team_layout(job->teams, job->npes));
  const Team team = enter_team(id, pes);
  tell_hosts(team);
  return team;
}

// In my block of a team that I am a member of.
void Runtime::Impl::tell_hosts(const Team& team) {
  if (job->host_of.empty()) return;
  std::vector<int> host_of;
  for (int rank = 0; rank < team.size; ++rank)
    host_of.push_back(job->host_of[static_cast<std::size_t>(team.pe_of(rank))]);
  const std::vector<std::int32_t> words = team_hosts(host_of, team.rank);
  std::byte* const block = job->heap->range().base + team_block_offset(job->teams, team.id);
  std::copy(words.begin(), words.end(),
            reinterpret_cast<std::int32_t*>(block + team_layout(job->teams, job->npes).hosts));
}

Result<Team> Runtime::Impl::make_together(const char* routine, TeamIds::Key key, const Pes& pes,
                                          const TeamIds::LowestOfAll& lowest_of_all,
                                          const std::string& of_whom, const std::string& limit) {
  const bool is_member = rank_in(pes, job->pe) >= 0;
  ASSIGN_OR_RETURN(const int id, ids->agree(key, is_member, lowest_of_all));
  if (id < 0)
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{0}: no team id is free on all {1}: there can be {2} teams at a time "
                    "({3}, the 3 predefined ones included{4}); destroy one, or set a larger {3}, "
                    "the same on every PE",
                    caller_or(routine), of_whom, job->options.max_teams,
                    job->options.source("WEFT_MAX_TEAMS"), limit));
  Result<Team> team = is_member ? enter_new_team(id, pes) : Team{};
  // Nobody sends to a block that is yet to be reset. And all end with the largest code of all: the
  // lowest bit of 0 to 63 that no member's bits lack. Code 0 is success.
  const auto code = static_cast<unsigned>(team.status().code());
  ASSIGN_OR_RETURN(const int worst, lowest_of_all({~std::uint64_t{0} << code}));
  if (worst == 0) return team;
  if (is_member) forget_team({.id = id});
  return Status::error(static_cast<Code>(worst),
                       fmt::format("{}: {}", caller_or(routine),
                                   team ? "another member could not make its part of the team "
                                          "ready, as it says itself; no member has it"
                                        : team.status().text()));
}

Result<Team> Runtime::Impl::make_team(const char* routine, const Team& parent, const Pes& pes,
                                      std::uint64_t arguments) {
  return make_together(
      routine, {TeamIds::kParent, static_cast<std::uint64_t>(parent.id)}, pes,
      [&](const TeamIds::Bits& mine) { return lowest_of_parent(routine, parent, arguments, mine); },
      "members of the parent", "");
}

Result<Team> Runtime::split_strided(const Team& parent, int start, int stride, int size) {
  const auto split = [&]() -> Result<Team> {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(impl_->check_team("split_strided", parent));
    ASSIGN_OR_RETURN(const Pes pes, strided_members(parent, start, stride, size));
    return impl_->make_team("split_strided", parent, pes,
                            Digest().add(1).add(start).add(stride).add(size).word());
  };
  auto team = split();
  if (!team) return report(team.status());
  return team;
}

Result<Runtime::Split2d> Runtime::split_2d(const Team& parent, int xrange) {
  const auto split = [&]() -> Result<Split2d> {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(impl_->check_team("split_2d", parent));
    ASSIGN_OR_RETURN(const Grid2d grid, grid_members(parent, xrange, parent.rank));
    const std::uint64_t arguments = Digest().add(2).add(xrange).word();
    Split2d teams;
    ASSIGN_OR_RETURN(teams.x, impl_->make_team("split_2d", parent, grid.x, arguments));
    auto y = impl_->make_team("split_2d", parent, grid.y, arguments);
    if (!y) {
      // Alike on all members, so the rows can go without more ado.
      impl_->forget_team(teams.x);
      return y.status();
    }
    teams.y = *y;
    return teams;
  };
  auto teams = split();
  if (!teams) return report(teams.status());
  return teams;
}

Result<Team> Runtime::team_from_list(const Team& parent, const std::vector<int>& ranks) {
  const auto make = [&]() -> Result<Team> {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(impl_->check_team("team_from_list", parent));
    ASSIGN_OR_RETURN(const Pes pes, listed_members(parent, ranks));
    Digest arguments;
    arguments.add(3);
    for (const int rank : ranks) arguments.add(rank);
    return impl_->make_team("team_from_list", parent, pes, arguments.word());
  };
  auto team = make();
  if (!team) return report(team.status());
  return team;
}

void Runtime::Impl::forget_team(const Team& team) {
  {
    const std::lock_guard lock(teams_mutex);
    teams[static_cast<std::size_t>(team.id)] = Team{};
  }
  ids->give(team.id);
}

// The sync is the last thing that comes to a member's block: whoever leaves it may use the id
// again.
Status Runtime::destroy(Team& team) {
  const auto destroy = [&]() -> Status {
    RETURN_IF_ERROR(impl_->usable());
    RETURN_IF_ERROR(impl_->check_team("destroy", team));
    if (team.id == impl_->world.id || team.id == impl_->node.id || team.id == impl_->shared.id)
      return Status::error(Code::kInvalidArgument,
                           fmt::format("{}: {} is predefined; it lives as long as the runtime",
                                       caller_or("destroy"), name(team)));
    RETURN_IF_ERROR(sync(*impl_->own, team));
    impl_->forget_team(team);
    team = Team{};
    return Status::ok();
  };
  return report(destroy());
}

}  // namespace weft
