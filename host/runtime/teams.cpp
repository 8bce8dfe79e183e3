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
Status Runtime::Impl::check_team(const char* routine, const Team& team) const {
  const bool known = team.id >= 0 && static_cast<std::size_t>(team.id) < teams.size() - 1 &&
                     same_value(team, teams[static_cast<std::size_t>(team.id)]);
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

// One reduction over the parent: AND of the free ids, and of the arguments' digest and of its
// complement. If the arguments are the same on all, each bit survives in one of the two.
Result<int> Runtime::Impl::agree_on_id(const char* routine, const Team& parent,
                                       std::uint64_t arguments) {
  const std::size_t words = IdMask::words(static_cast<int>(job->options.max_teams));
  std::uint64_t* const mine = id_words;
  std::uint64_t* const all = id_words + words + 2;
  for (std::size_t i = 0; i < words; ++i) mine[i] = free_ids.bits()[i];
  mine[words] = arguments;
  mine[words + 1] = ~arguments;
  RETURN_IF_ERROR(reduce(*own, parent, all, mine, words + 2, ReduceOp::kAnd));
  if ((all[words] | all[words + 1]) != ~std::uint64_t{0})
    return Status::error(
        Code::kNotSymmetric,
        fmt::format("{}: the members of the parent, {}, came with different arguments or calls; "
                    "all must make the same call",
                    caller_or(routine), name(parent)));
  const int id = IdMask::lowest(all, words);
  if (id >= 0) return id;
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: no team id is free on all members of the parent: there can be {} teams at a "
                  "time (WEFT_MAX_TEAMS, the 3 predefined ones included); destroy one, or set a "
                  "larger WEFT_MAX_TEAMS, the same on every PE",
                  caller_or(routine), job->options.max_teams));
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

// Takes the id and makes my blocks ready; others must not send to them before they know that.
Result<Team> Runtime::Impl::enter_new_team(int id, const Pes& pes) {
  if (job->gpu != nullptr) RETURN_IF_ERROR(job->gpu->reset_team(id));
  free_ids.take(id);
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

Result<Team> Runtime::Impl::make_team(const char* routine, const Team& parent, const Pes& pes,
                                      std::uint64_t arguments) {
  ASSIGN_OR_RETURN(const int id, agree_on_id(routine, parent, arguments));
  Result<Team> team = rank_in(pes, job->pe) >= 0 ? enter_new_team(id, pes) : Team{};
  // Nobody sends to a block that is yet to be reset.
  RETURN_IF_ERROR(sync(*own, parent));
  return team;
}

Result<Team> Runtime::split_strided(const Team& parent, int start, int stride, int size) {
  const std::lock_guard lock(impl_->mutex);
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
  const std::lock_guard lock(impl_->mutex);
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
  const std::lock_guard lock(impl_->mutex);
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
  teams[static_cast<std::size_t>(team.id)] = Team{};
  free_ids.give(team.id);
}

// The sync is the last thing that comes to a member's block: whoever leaves it may use the id
// again.
Status Runtime::destroy(Team& team) {
  const std::lock_guard lock(impl_->mutex);
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
