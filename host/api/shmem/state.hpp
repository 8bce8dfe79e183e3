// The process default that OpenSHMEM's names stand on: one Runtime, and the contexts and teams
// behind the C handles.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <weft/runtime.hpp>

#include "host/api/shmem/names.hpp"

// Behind shmem_team_t.
struct weft_shmem_team {
  weft::Team team;
  weft::Context* context = nullptr;  // its collectives'; null: the team is not there
  shmem_team_config_t config{0};
};

// Behind shmem_ctx_t.
struct weft_shmem_ctx {
  // Calls go straight here: no checks, PE numbers of the world. Null: see admit().
  weft::Context* quick = nullptr;
  weft::Context* context = nullptr;  // null: the context is not there
  std::optional<weft::Context> own;  // what `context` is, if not the default one
  shmem_team_t team = nullptr;       // whose PE numbers its calls take; null: SHMEM_TEAM_INVALID
};

namespace weft::shmem {

// SHMEM_CTX_DEFAULT. There before shmem_init and after shmem_finalize, so that a call then finds
// something that says no.
[[gnu::visibility("hidden")]] extern weft_shmem_ctx default_ctx;
inline weft_shmem_ctx* resolve(shmem_ctx_t ctx) {
  return ctx == SHMEM_CTX_DEFAULT ? &default_ctx : ctx;
}

[[gnu::visibility("hidden")]] extern weft_shmem_team world_team, shared_team;
inline weft_shmem_team* resolve(shmem_team_t team) {
  if (team == SHMEM_TEAM_WORLD) return &world_team;
  return team == SHMEM_TEAM_SHARED ? &shared_team : team;
}

// --- what a call needs to go on; none, and reported, if it may not ------------------------------

// Outside of shmem_init ... shmem_finalize there is none.
Runtime* runtime(const char* routine);
// The context behind a handle.
Context* admit(const char* routine, shmem_ctx_t ctx);
// The team behind a handle. One that is there says that the runtime is.
[[gnu::cold]] weft_shmem_team* refuse(const char* routine, shmem_team_t team);
inline weft_shmem_team* admit(const char* routine, shmem_team_t team) {
  weft_shmem_team* const place = resolve(team);
  if (place != nullptr && place->context != nullptr) [[likely]]
    return place;
  return refuse(routine, team);
}
// A call with a context and a PE, resolved: `if (ResolvedCall call(...); call)
// call->put_bytes(...)`. On the quick way this takes one load and one test.
class ResolvedCall {
 public:
  [[gnu::always_inline]] ResolvedCall(const char* routine, shmem_ctx_t ctx, int pe)
      : context_(nullptr), pe_(pe) {
    const weft_shmem_ctx* const target = resolve(ctx);
    if (target != nullptr) [[likely]]
      context_ = target->quick;
    if (context_ == nullptr) [[unlikely]] {
      const Admission admission = admit(routine, ctx, pe);
      context_ = admission.context;
      pe_ = admission.pe;
    }
  }
  explicit operator bool() const { return context_ != nullptr; }
  Context* operator->() const { return context_; }
  int pe() const { return pe_; }

 private:
  // By value, so that a ResolvedCall stays in registers.
  struct Admission {
    Context* context = nullptr;
    int pe = 0;
  };
  [[gnu::cold]] static Admission admit(const char* routine, shmem_ctx_t ctx, int pe);

  Context* context_;
  int pe_;
};

// The end of a routine that cannot return an error. A call that was wrong has been reported and
// returns; after any other failure the job ends.
[[gnu::cold]] void settle_failure(const Status& status);
[[gnu::always_inline]] inline void settle(const Status& status) {
  if (!status) [[unlikely]]
    settle_failure(status);
}

// Reports "ROUTINE: argument ARGUMENT is ADDRESS, which WHY".
void refuse_address(const char* routine, const char* argument, const void* address, Code code,
                    std::string_view why);

// --- between the files ---------------------------------------------------------------------------

int thread_level();
// WEFT_CHECK=1.
bool checks();
// A context for one more thread to use by itself.
Result<Context> make_context();
// Everything of the default context is complete, and every member is here.
Status barrier_of(const weft_shmem_team& place);

// One of `all` that is not in use, or one more: for contexts and for teams.
template <class Place>
Place* free_place(std::vector<std::unique_ptr<Place>>& all) {
  for (const auto& place : all)
    if (place->context == nullptr) return place.get();
  return all.emplace_back(std::make_unique<Place>()).get();
}

// Makes `place` that of `team`.
void fill(weft_shmem_team* place, const Team& team, Runtime& rt);
// The predefined ones, and the end of all others.
void start_teams(Runtime& rt);
void stop_teams();
void forget_active_sets();
void start_contexts(Runtime& rt);
void stop_contexts();
void stop_contexts_of(shmem_team_t team);

// SHMEM_SYMMETRIC_SIZE and the other variables of OpenSHMEM 1.5, 7, where Weft's own do not say
// otherwise.
Status read_environment(Options* options);
// Prints on PE 0 what they ask for.
void greet(const Runtime& rt);

}  // namespace weft::shmem
