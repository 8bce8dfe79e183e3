// Teams behind nvshmem_team_t, and where their members meet.
#include <mutex>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <weft/collective.hpp>

#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

// A number's place stays where it is: calls look into it without the mutex.
struct Teams {
  std::mutex mutex;               // guards which places are taken
  std::vector<TeamPlace> places;  // by number; as many as there can be
};
Teams& teams() {
  static Teams* const teams = new Teams;
  return *teams;
}

void clear(TeamPlace& place) {
  place.context = nullptr;
  place.team = Team{};
  place.config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
}

// The default context serves all teams: with NVSHMEM_THREAD_MULTIPLE it is one that threads share.
Status fill(Runtime& rt, nvshmem_team_t number, const Team& team) {
  TeamPlace& place = teams().places[static_cast<std::size_t>(number)];
  Status shown = show_team(rt, number, team);
  if (!shown) return shown;
  place.team = team;
  place.context = &rt.context();
  return Status::ok();
}

// The PEs that have my rank on their host, in the order of hosts.
Result<Team> same_rank_team(Runtime& rt) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto ranks = rt.allocate<std::int32_t>(npes + 1);
  if (!ranks) return ranks.status();
  std::int32_t* const mine = *ranks + npes;
  *mine = rt.node().rank;
  Status told = weft::fcollect(rt.context(), rt.world(), *ranks, mine, 1);
  if (!told) return told;
  std::vector<int> alike;
  for (int pe = 0; pe < rt.npes(); ++pe)
    if ((*ranks)[pe] == *mine) alike.push_back(pe);
  auto words = rt.callocate<std::uint64_t>(Runtime::kTeamWords);
  return words ? rt.team_of(alike, *words) : words.status();
}

// The first number that is free. There are as many as there can be teams.
nvshmem_team_t free_number(const Teams& t) {
  for (std::size_t i = NVSHMEM_TEAMS_MIN; i < t.places.size(); ++i)
    if (t.places[i].context == nullptr) return static_cast<nvshmem_team_t>(i);
  return NVSHMEM_TEAM_INVALID;
}

// NVSHMEM_TEAM_INVALID for those that are not in it.
Status adopt(Runtime& rt, const Team& team, const nvshmem_team_config_t* config, long mask,
             nvshmem_team_t* number) {
  if (!team.is_member()) return Status::ok();
  Teams& t = teams();
  const std::lock_guard lock(t.mutex);
  const nvshmem_team_t free = free_number(t);
  Status filled = fill(rt, free, team);
  if (!filled) return filled;
  TeamPlace& place = t.places[static_cast<std::size_t>(free)];
  if (config != nullptr && (mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) != 0)
    place.config.num_contexts = config->num_contexts;
  *number = free;
  return Status::ok();
}

int team_split_strided(const char* routine, nvshmem_team_t parent, int start, int stride, int size,
                       const nvshmem_team_config_t* config, long mask, nvshmem_team_t* new_team) {
  *new_team = NVSHMEM_TEAM_INVALID;
  const TeamPlace* const from = admit(routine, parent);
  if (from == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  if (size == 0) return NVSHMEMX_ERROR_INVALID_VALUE;  // no team, and nothing to log
  const Call call(routine);
  auto team = call.runtime_of().split_strided(from->team, start, stride, size);
  if (!team) return error_code(team.status());
  return error_code(report(adopt(call.runtime_of(), *team, config, mask, new_team)));
}

int team_split_2d(const char* routine, nvshmem_team_t parent, int xrange,
                  const nvshmem_team_config_t* xaxis_config, long xaxis_mask,
                  nvshmem_team_t* xaxis_team, const nvshmem_team_config_t* yaxis_config,
                  long yaxis_mask, nvshmem_team_t* yaxis_team) {
  *xaxis_team = *yaxis_team = NVSHMEM_TEAM_INVALID;
  const TeamPlace* const from = admit(routine, parent);
  if (from == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  const Call call(routine);
  Runtime& rt = call.runtime_of();
  auto axes = rt.split_2d(from->team, xrange);
  if (!axes) return error_code(axes.status());
  Status x = report(adopt(rt, axes->x, xaxis_config, xaxis_mask, xaxis_team));
  Status y = report(adopt(rt, axes->y, yaxis_config, yaxis_mask, yaxis_team));
  return error_code(x ? y : x);
}

void team_destroy(const char* routine, nvshmem_team_t number) {
  if (number == NVSHMEM_TEAM_INVALID) return;
  const TeamPlace* const place = admit(routine, number);
  if (place == nullptr) return;
  const Call call(routine);
  if (number < NVSHMEM_TEAMS_MIN) {
    refuse(routine, Code::kInvalidArgument,
           fmt::format("argument team is {}, which is predefined; it lives until nvshmem_finalize",
                       number));
    return;
  }
  Team team = place->team;
  const Status destroyed = call.runtime_of().destroy(team);
  if (!destroyed) return settle(destroyed);
  const std::lock_guard lock(teams().mutex);
  clear(teams().places[static_cast<std::size_t>(number)]);
  report(show_team(call.runtime_of(), number, Team{})).ignore();
}

// --- queries -------------------------------------------------------------------------------------

// NVSHMEM answers -1 for no team, and has nothing to complain of.
int team_my_pe(const char* routine, nvshmem_team_t team) {
  if (team == NVSHMEM_TEAM_INVALID) return -1;
  const TeamPlace* const place = admit(routine, team);
  return place == nullptr ? -1 : place->team.rank;
}

int team_n_pes(const char* routine, nvshmem_team_t team) {
  if (team == NVSHMEM_TEAM_INVALID) return -1;
  const TeamPlace* const place = admit(routine, team);
  return place == nullptr ? -1 : place->team.size;
}

void team_get_config(const char* routine, nvshmem_team_t team, nvshmem_team_config_t* config) {
  if (team == NVSHMEM_TEAM_INVALID) return;
  if (const TeamPlace* const place = admit(routine, team)) *config = place->config;
}

int team_translate_pe(const char* routine, nvshmem_team_t from, int pe, nvshmem_team_t to) {
  if (from == NVSHMEM_TEAM_INVALID || to == NVSHMEM_TEAM_INVALID) return -1;
  const TeamPlace* const source = admit(routine, from);
  const TeamPlace* const target = source == nullptr ? nullptr : admit(routine, to);
  return target == nullptr ? -1 : translate(source->team, pe, target->team);
}

// --- together ------------------------------------------------------------------------------------

int team_sync(const char* routine, nvshmem_team_t team) {
  const TeamPlace* const place = admit(routine, team);
  if (place == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  const CallerName name(routine);
  return error_code(sync(*place->context, place->team));
}

void sync_all(const char* routine) {
  const TeamPlace* const place = admit(routine, NVSHMEM_TEAM_WORLD);
  if (place == nullptr) return;
  const CallerName name(routine);
  settle(sync(*place->context, place->team));
}

Status barrier_of(const TeamPlace& place) { return weft::barrier(*place.context, place.team); }

int barrier(const char* routine, nvshmem_team_t team) {
  const TeamPlace* const place = admit(routine, team);
  if (place == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  const CallerName name(routine);
  return error_code(barrier_of(*place));
}

void barrier_all(const char* routine) {
  const TeamPlace* const place = admit(routine, NVSHMEM_TEAM_WORLD);
  if (place == nullptr) return;
  const CallerName name(routine);
  settle(barrier_of(*place));
}

}  // namespace

const TeamPlace* admit(const char* routine, nvshmem_team_t team) {
  if (runtime(routine) == nullptr) return nullptr;
  const Teams& t = teams();
  if (team >= 0 && static_cast<std::size_t>(team) < t.places.size()) {
    const TeamPlace& place = t.places[static_cast<std::size_t>(team)];
    if (place.context != nullptr) return &place;
  }
  refuse(routine, Code::kInvalidArgument,
         fmt::format("argument team is {}, which {}", team,
                     team == NVSHMEM_TEAM_INVALID
                         ? "is NVSHMEM_TEAM_INVALID; only members call"
                         : "is no team of this PE: it was destroyed, or never made"));
  return nullptr;
}

Status start_teams(Runtime& rt) {
  teams().places.resize(most_teams(rt));
  auto alike = same_rank_team(rt);
  if (!alike) return alike.status();
  const std::pair<nvshmem_team_t, Team> predefined[] = {
      {NVSHMEM_TEAM_WORLD, rt.world()},
      {NVSHMEM_TEAM_SHARED, rt.shared()},
      {NVSHMEMX_TEAM_NODE, rt.node()},
      {NVSHMEMX_TEAM_SAME_MYPE_NODE, *alike},
  };
  for (const auto& [number, team] : predefined)
    if (Status filled = fill(rt, number, team); !filled) return filled;
  return Status::ok();
}

void stop_teams() {
  Teams& t = teams();
  const std::lock_guard lock(t.mutex);
  for (TeamPlace& place : t.places) clear(place);
}

}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "team.def.h"
#define WEFT_NVSHMEM_HOST WEFT_NVSHMEM_DEFINE
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
