// Teams behind shmem_team_t, and their barriers.
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <weft/collective.hpp>

#include "host/api/shmem/state.hpp"

namespace weft::shmem {

constinit weft_shmem_team world_team, shared_team;

namespace {

// As contexts: a destroyed one stays until its place is used again.
struct Teams {
  std::mutex mutex;
  std::vector<std::unique_ptr<weft_shmem_team>> all;  // guarded by mutex
};
Teams& teams() {
  static Teams* const teams = new Teams;
  return *teams;
}

void clear(weft_shmem_team* place) {
  place->context = nullptr;
  place->team = Team{};
}

// SHMEM_TEAM_INVALID for those that are not in it. Cannot fail, as the others would not know.
void adopt(const Team& team, const shmem_team_config_t* config, long mask, shmem_team_t* handle) {
  if (!team.is_member()) return;
  Teams& t = teams();
  const std::lock_guard lock(t.mutex);
  weft_shmem_team* const place = free_place(t.all);
  fill(place, team, *runtime("shmem_team_split"));
  const bool configured = (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0 && config != nullptr;
  place->config.num_contexts = configured ? config->num_contexts : 0;
  *handle = place;
}

int team_split_strided(const char* routine, shmem_team_t parent, int start, int stride, int size,
                       const shmem_team_config_t* config, long mask, shmem_team_t* new_team) {
  *new_team = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const from = admit(routine, parent);
  if (from == nullptr) return -1;
  if (size == 0)
    return -1;  // no team, and nothing to log: half of one PE, in the standard's example
  const CallerName name(routine);
  auto team = runtime(routine)->split_strided(from->team, start, stride, size);
  if (!team) return -1;
  adopt(*team, config, mask, new_team);
  return 0;
}

int team_split_2d(const char* routine, shmem_team_t parent, int xrange,
                  const shmem_team_config_t* xaxis_config, long xaxis_mask,
                  shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
                  long yaxis_mask, shmem_team_t* yaxis_team) {
  *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const from = admit(routine, parent);
  if (from == nullptr) return -1;
  const CallerName name(routine);
  auto axes = runtime(routine)->split_2d(from->team, xrange);
  if (!axes) return -1;
  adopt(axes->x, xaxis_config, xaxis_mask, xaxis_team);
  adopt(axes->y, yaxis_config, yaxis_mask, yaxis_team);
  return 0;
}

void team_destroy(const char* routine, shmem_team_t handle) {
  if (handle == SHMEM_TEAM_INVALID) return;
  weft_shmem_team* const place = admit(routine, handle);
  if (place == nullptr) return;
  const CallerName name(routine);
  Team team = place->team;
  const Status destroyed = runtime(routine)->destroy(team);
  if (!destroyed) return settle(destroyed);
  stop_contexts_of(handle);
  const std::lock_guard lock(teams().mutex);
  clear(place);
}

// --- queries -------------------------------------------------------------------------------------

int team_my_pe(const char* routine, shmem_team_t team) {
  if (team == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const place = admit(routine, team);
  return place == nullptr ? -1 : place->team.rank;
}

int team_n_pes(const char* routine, shmem_team_t team) {
  if (team == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const place = admit(routine, team);
  return place == nullptr ? -1 : place->team.size;
}

int team_get_config(const char* routine, shmem_team_t team, long mask,
                    shmem_team_config_t* config) {
  if (team == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const place = admit(routine, team);
  if (place == nullptr) return -1;
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) config->num_contexts = place->config.num_contexts;
  return 0;
}

int team_translate_pe(const char* routine, shmem_team_t from, int pe, shmem_team_t to) {
  if (from == SHMEM_TEAM_INVALID || to == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const source = admit(routine, from);
  const weft_shmem_team* const target = source == nullptr ? nullptr : admit(routine, to);
  return target == nullptr ? -1 : translate(source->team, pe, target->team);
}

void* team_ptr(const char* routine, shmem_team_t team, const void* dest, int pe) {
  if (team == SHMEM_TEAM_INVALID) return nullptr;
  const weft_shmem_team* const place = admit(routine, team);
  const int in_world = place == nullptr ? -1 : place->team.pe_of(pe);
  return in_world < 0 ? nullptr : default_ctx.context->ptr(dest, in_world);
}

// --- together ------------------------------------------------------------------------------------

int team_sync(const char* routine, shmem_team_t team) {
  weft_shmem_team* const place = admit(routine, team);
  if (place == nullptr) return -1;
  const CallerName name(routine);
  return sync(*place->context, place->team) ? 0 : -1;
}

void sync_all(const char* routine) {
  weft_shmem_team* const place = admit(routine, SHMEM_TEAM_WORLD);
  if (place == nullptr) return;
  const CallerName name(routine);
  settle(sync(*place->context, place->team));
}

void barrier_all(const char* routine) {
  if (admit(routine, SHMEM_CTX_DEFAULT) == nullptr) return;
  const CallerName name(routine);
  settle(barrier_of(world_team));
}

}  // namespace

// The default context serves all teams: with SHMEM_THREAD_MULTIPLE it is one that threads share.
void fill(weft_shmem_team* place, const Team& team, Runtime& rt) {
  place->team = team;
  place->context = &rt.context();
}

Status barrier_of(const weft_shmem_team& place) { return barrier(*place.context, place.team); }

void start_teams(Runtime& rt) {
  fill(&world_team, rt.world(), rt);
  fill(&shared_team, rt.shared(), rt);
}

void stop_teams() {
  Teams& t = teams();
  const std::lock_guard lock(t.mutex);
  for (const auto& team : t.all) clear(team.get());
  clear(&world_team);
  clear(&shared_team);
}

weft_shmem_team* refuse(const char* routine, shmem_team_t handle) {
  if (runtime(routine) == nullptr) return nullptr;
  const weft_shmem_team* const team = resolve(handle);
  report(Status::error(Code::kInvalidArgument,
                       fmt::format("{}: argument team {}", routine,
                                   team == nullptr ? "is SHMEM_TEAM_INVALID; only members call"
                                                   : "is a team that was destroyed")))
      .ignore();
  return nullptr;
}

}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "team.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
