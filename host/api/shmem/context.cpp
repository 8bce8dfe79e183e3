// Contexts behind shmem_ctx_t.
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "host/api/shmem/state.hpp"

namespace weft::shmem {

constinit weft_shmem_ctx default_ctx;

namespace {

// The contexts that programs have made. A destroyed one stays until its place is used again, so
// that a call through its old handle is refused.
struct Contexts {
  std::mutex mutex;
  std::vector<std::unique_ptr<weft_shmem_ctx>> all;  // guarded by mutex
};
Contexts& contexts() {
  static Contexts* const contexts = new Contexts;
  return *contexts;
}

void remove(weft_shmem_ctx* ctx) {
  ctx->quick = ctx->context = nullptr;
  ctx->own.reset();  // completes what is outstanding
}

// Only where there can be other threads.
void share(Context& context) {
  if (thread_level() == SHMEM_THREAD_MULTIPLE) context.share();
}

int ctx_create(const char* routine, shmem_team_t team, long options, shmem_ctx_t* ctx) {
  *ctx = SHMEM_CTX_INVALID;
  if (runtime(routine) == nullptr || team == SHMEM_TEAM_INVALID) return -1;
  const weft_shmem_team* const members = admit(routine, team);
  if (members == nullptr) return -1;
  constexpr long kKnown = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
  if ((options & ~kKnown) != 0) {
    report(Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument options is {:#x}; options are "
                                     "SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE and "
                                     "SHMEM_CTX_NOSTORE",
                                     routine, options)))
        .ignore();
    return -1;
  }
  const CallerName name(routine);
  auto made = make_context();
  if (!made) return -1;
  const std::lock_guard lock(contexts().mutex);
  weft_shmem_ctx* const place = free_place(contexts().all);
  place->own.emplace(std::move(made).value());
  place->context = &*place->own;
  if ((options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE)) == 0) share(*place->context);
  place->team = team;
  place->quick = !checks() && team == SHMEM_TEAM_WORLD ? place->context : nullptr;
  *ctx = place;
  return 0;
}

void ctx_destroy(const char* routine, shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) {
    report(Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument ctx is SHMEM_CTX_DEFAULT, which lives until "
                                     "shmem_finalize",
                                     routine)))
        .ignore();
    return;
  }
  Context* const context = admit(routine, ctx);
  if (context == nullptr) return;
  const CallerName name(routine);
  settle(context->quiet());
  const std::lock_guard lock(contexts().mutex);
  remove(ctx);
}

int ctx_get_team(const char* routine, shmem_ctx_t ctx, shmem_team_t* team) {
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID || admit(routine, ctx) == nullptr) return -1;
  *team = resolve(ctx)->team;
  return 0;
}

// Hints, with no effect on what calls mean; every operation is on its way as soon as it is posted.
void ctx_session_start(const char* routine, shmem_ctx_t ctx, long,
                       const shmem_ctx_session_config_t*, long) {
  if (ctx != SHMEM_CTX_INVALID) admit(routine, ctx);
}

void ctx_session_stop(const char* routine, shmem_ctx_t ctx) {
  if (ctx != SHMEM_CTX_INVALID) admit(routine, ctx);
}

void refuse_pe(const char* routine, int pe, const Team& team) {
  report(Status::error(Code::kOutOfRange,
                       fmt::format("{}: argument pe is {}; the context's team has PEs 0 to {}",
                                   routine, pe, team.size - 1)))
      .ignore();
}

}  // namespace

void start_contexts(Runtime& rt) {
  share(rt.context());
  default_ctx.context = &rt.context();
  default_ctx.team = SHMEM_TEAM_WORLD;
  default_ctx.quick = checks() ? nullptr : default_ctx.context;
}

void stop_contexts() {
  Contexts& c = contexts();
  const std::lock_guard lock(c.mutex);
  for (const auto& ctx : c.all) remove(ctx.get());
  default_ctx.quick = default_ctx.context = nullptr;
}

void stop_contexts_of(shmem_team_t team) {
  Contexts& c = contexts();
  const std::lock_guard lock(c.mutex);
  for (const auto& ctx : c.all)
    if (ctx->context != nullptr && ctx->team == team) remove(ctx.get());
}

Result<Context> make_context() { return runtime("shmem_ctx_create")->create_context(); }

Context* admit(const char* routine, shmem_ctx_t ctx) {
  if (runtime(routine) == nullptr) return nullptr;
  const weft_shmem_ctx* const target = resolve(ctx);
  if (target != nullptr && target->context != nullptr) return target->context;
  report(Status::error(Code::kInvalidArgument,
                       fmt::format("{}: argument ctx {}", routine,
                                   target == nullptr ? "is SHMEM_CTX_INVALID"
                                                     : "is a context that was destroyed")))
      .ignore();
  return nullptr;
}

ResolvedCall::Admission ResolvedCall::admit(const char* routine, shmem_ctx_t ctx, int pe) {
  Context* const context = shmem::admit(routine, ctx);
  if (context == nullptr) return {};
  const shmem_team_t team = resolve(ctx)->team;
  if (team != SHMEM_TEAM_WORLD) {
    const Team& members = resolve(team)->team;
    const int in_world = members.pe_of(pe);
    if (in_world < 0) {
      refuse_pe(routine, pe, members);
      return {};
    }
    pe = in_world;
  }
  return {context, pe};
}

}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "context.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
