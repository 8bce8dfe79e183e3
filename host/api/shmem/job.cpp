// Start and end of the process default, and what it can be asked.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "host/api/process_job.hpp"
#include "host/api/settle.hpp"
#include "host/api/shmem/state.hpp"
#include "host/api/shmem/static_data.hpp"

namespace weft::shmem {

namespace {

// No destructor: shmem calls may come from other destructors at the very end.
ProcessJob& job() {
  static auto* const job = new ProcessJob;
  return *job;
}

Status start(int level) {
  auto options = Options::from_environment();
  if (!options) return options.status();
  Status status = read_environment(&*options);
  if (!status) return status;
  options->gpu = "off";  // OpenSHMEM knows of host memory only
  if (options->wait_action == "continue") options->wait_action = "wait";
  StaticData data(&*options);
  auto made = Runtime::create(*options);
  if (!made) return made.status();
  status = data.share(*made);
  if (!status) return status;
  ProcessJob& j = job();
  j.runtime = new Runtime(std::move(made).value());
  j.level = level;
  start_teams(*j.runtime);
  start_contexts(*j.runtime);
  greet(*j.runtime);
  return Status::ok();
}

void end() {
  ProcessJob& j = job();
  settle(j.runtime->barrier());
  stop_contexts();
  forget_active_sets();
  stop_teams();
  delete std::exchange(j.runtime, nullptr);  // waits until every PE is here
  j.has_ended = true;
}

// A program that ends without shmem_finalize is finalized then (deprecated; 1.5, annex E). One that
// ends in failure does not wait for the others: the launcher sees it, and tells them.
void end_at_exit(int status, void*) {
  ProcessJob& j = job();
  if (j.is_inherited()) return;
  const std::lock_guard lock(j.mutex);
  if (j.starts == 0 || j.aborted || status != 0) return;
  j.starts = 0;
  end();
}

int init_thread(const char* routine, int requested, int* provided) {
  ProcessJob& j = job();
  if (j.refuse_in_child(routine)) return 1;
  const std::lock_guard lock(j.mutex);
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
    report(Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument requested is {}; thread levels are "
                                     "SHMEM_THREAD_SINGLE (0) to SHMEM_THREAD_MULTIPLE (3)",
                                     routine, requested)))
        .ignore();
    return 1;
  }
  if (j.starts == 0) {
    const CallerName name(routine);
    Status status = report(start(requested));
    if (!status) return 1;
    static const int registered = ::on_exit(end_at_exit, nullptr);
    static_cast<void>(registered);
  }
  ++j.starts;
  if (provided != nullptr) *provided = j.level;
  return 0;
}

// Nothing in a program works without, and it has no way to tell its caller: the job ends.
void init(const char* routine) {
  if (init_thread(routine, SHMEM_THREAD_SINGLE, nullptr) != 0) std::exit(1);
}

void start_pes(const char* routine, int) {
  if (job().starts == 0) init(routine);
}

void finalize(const char* routine) {
  job().finalize(
      routine, [&] { return runtime(routine); }, end);
}

void global_exit(const char* routine, int status) {
  ProcessJob& j = job();
  if (j.refuse_in_child(routine)) std::exit(status);
  if (Runtime* const rt = runtime(routine)) {
    j.aborted = true;
    rt->abort(status, fmt::format("shmem_global_exit({}) on PE {}", status, rt->pe()));
  }
  std::exit(status);
}

// --- queries -------------------------------------------------------------------------------------

void query_thread(const char* routine, int* provided) {
  if (runtime(routine) != nullptr) *provided = job().level;
}

void query_initialized(const char*, int* initialized) { *initialized = job().runtime != nullptr; }

int my_pe(const char* routine) { return pe_of(runtime(routine)); }

int n_pes(const char* routine) { return npes_of(runtime(routine)); }

int pe_accessible(const char* routine, int pe) {
  const Runtime* const rt = runtime(routine);
  return rt != nullptr && pe >= 0 && pe < rt->npes();
}

int addr_accessible(const char* routine, const void* address, int pe) {
  const Runtime* const rt = runtime(routine);
  return rt != nullptr && pe >= 0 && pe < rt->npes() && rt->offset_of(address).has_value();
}

void* ptr(const char* routine, const void* dest, int pe) {
  const Context* const context = admit(routine, SHMEM_CTX_DEFAULT);
  return context == nullptr ? nullptr : context->ptr(dest, pe);
}

void info_get_version(const char*, int* major, int* minor) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

void info_get_name(const char*, char* name) {
  static_assert(sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN);
  std::memcpy(name, SHMEM_VENDOR_STRING, sizeof(SHMEM_VENDOR_STRING));
}

// For tools, which replace it.
void pcontrol(const char*, int) {}

// Caches are coherent.
void cache(const char*) {}
void cache_line(const char*, void*) {}

}  // namespace

// --- what calls need to go on --------------------------------------------------------------------

Runtime* runtime(const char* routine) {
  const ProcessJob& j = job();
  if (j.runtime != nullptr) [[likely]]
    return j.runtime;
  report(Status::error(
             Code::kInvalidArgument,
             fmt::format("{}: called {}", routine,
                         j.has_ended ? "after shmem_finalize; no routine but shmem_init may be"
                                     : "before shmem_init, which must come first")))
      .ignore();
  return nullptr;
}

int thread_level() { return job().level; }

void refuse_address(const char* routine, const char* argument, const void* address, Code code,
                    std::string_view why) {
  report(Status::error(code, fmt::format("{}: argument {} is {}, which {}", routine, argument,
                                         fmt::ptr(address), why)))
      .ignore();
}

void settle_failure(const Status& status) {
  if (!is_misuse(status.code())) end_job(job().runtime, status);
}

bool checks() { return job().runtime->options().check; }

}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "job.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
