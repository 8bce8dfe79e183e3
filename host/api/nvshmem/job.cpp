// Start and end of the process default, and what it can be asked.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <weft/device/launch.hpp>

#include "host/api/environment.hpp"
#include "host/api/nvshmem/meet.hpp"
#include "host/api/nvshmem/state.hpp"
#include "host/api/process_job.hpp"
#include "host/api/settle.hpp"

namespace weft::nvshmem {

namespace {

// No destructor: calls may come from other destructors at the very end.
ProcessJob& job() {
  static auto* const job = new ProcessJob;
  return *job;
}

Status read_options(const nvshmemx_init_attr_t* attr, Options* options) {
  auto read = Options::from_environment();
  if (!read) return read.status();
  *options = std::move(read).value();
  if (options->wait_action == "continue") options->wait_action = "wait";
  // Many programs never initialise the struct, and NVSHMEM lets them: only the exact version says
  // that the field was set.
  constexpr int kHasGpu = WEFT_NVSHMEM_VERSION_OF(2, nvshmemx_init_args_t);
  const int gpu = attr != nullptr && attr->args.version == kHasGpu ? attr->args.cuda_device_id : -1;
  if (gpu >= 0 && variable("WEFT_GPU") == nullptr) options->gpu = std::to_string(gpu);
  return read_environment(options);
}

Status set_up(Runtime& rt, int level) {
  if (level == NVSHMEM_THREAD_MULTIPLE) rt.context().share();
  Status status = start_kernels(rt);
  if (status) status = start_teams(rt);
  if (status) status = tell_modules(rt);
  return status;
}

void end() {
  stop_kernels(*job().runtime);
  stop_teams();
  forget_buffers();
  delete std::exchange(job().runtime, nullptr);  // waits until every PE is here
}

Status start(int level, unsigned flags, const nvshmemx_init_attr_t* attr) {
  detail::note_gpu_kernels(detail::GpuKind::kCuda);  // NVSHMEM's programs have some
  Options options;
  if (Status read = read_options(attr, &options); !read) return read;
  auto made = meet(flags, attr, options);
  if (!made) return made.status();
  ProcessJob& j = job();
  j.level = level;
  j.runtime = new Runtime(std::move(made).value());
  Status status = set_up(*j.runtime, level);
  if (!status)
    end();
  else
    greet(*j.runtime);
  return status;
}

int init_with(const char* routine, int level, unsigned flags, const nvshmemx_init_attr_t* attr) {
  ProcessJob& j = job();
  if (j.refuse_in_child(routine)) return NVSHMEMX_ERROR_INTERNAL;
  const std::lock_guard lock(j.mutex);
  if (j.starts == 0) {
    const CallerName name(routine);
    Status status = report(start(level, flags, attr));
    if (!status) return error_code(status);
  }
  ++j.starts;
  return NVSHMEMX_SUCCESS;
}

int init_attr(const char* routine, unsigned flags, const nvshmemx_init_attr_t* attr) {
  return init_with(routine, NVSHMEM_THREAD_SERIALIZED, flags, attr);
}

int init_thread_attr(const char* routine, int requested, int* provided, unsigned flags,
                     const nvshmemx_init_attr_t* attr) {
  if (requested < NVSHMEM_THREAD_SINGLE || requested > NVSHMEM_THREAD_MULTIPLE)
    return refuse(routine, Code::kInvalidArgument,
                  fmt::format("argument requested is {}; thread levels are NVSHMEM_THREAD_SINGLE "
                              "(0) to NVSHMEM_THREAD_MULTIPLE (3)",
                              requested));
  const int failed = init_with(routine, requested, flags, attr);
  if (failed == 0 && provided != nullptr) *provided = job().level;
  return failed;
}

int init_thread(const char* routine, int requested, int* provided) {
  return init_thread_attr(routine, requested, provided, 0, nullptr);
}

int hostlib_init(const char* routine, int requested, int* provided, unsigned flags,
                 const nvshmemx_init_attr_t* attr, nvshmemi_version_t,
                 nvshmemx_device_lib_init_cb device_library) {
  if (device_library != nullptr)
    return refuse(routine, Code::kUnsupported,
                  "argument cb is a device library's; Weft's kernels have their state from the "
                  "headers: pass a null cb");
  return init_thread_attr(routine, requested, provided, flags, attr);
}

// Nothing in a program works without, and it has no way to tell its caller: the job ends.
void init(const char* routine) {
  if (init_with(routine, NVSHMEM_THREAD_SERIALIZED, 0, nullptr) != 0) std::exit(1);
}

void finalize(const char* routine) {
  const auto last = [] {
    settle(job().runtime->barrier());  // streams may be in a collective of the world
    end();
    job().has_ended = true;
  };
  job().finalize(
      routine, [&] { return runtime(routine); }, last);
}

// Both contexts are a device library's, of which there is none.
void hostlib_finalize(const char* routine, void*, void*) { finalize(routine); }

void global_exit(const char* routine, int status) {
  if (job().refuse_in_child(routine)) std::exit(status);
  if (Runtime* const rt = runtime(routine))
    rt->abort(status, fmt::format("nvshmem_global_exit({}) on PE {}", status, rt->pe()));
  std::exit(status);
}

// --- unique ids ----------------------------------------------------------------------------------

// The place where PEs meet goes away with its id.
std::vector<UniqueId>& ids() {
  static auto* const ids = new std::vector<UniqueId>;
  return *ids;
}

int get_uniqueid(const char* routine, nvshmemx_uniqueid_t* uniqueid) {
  ProcessJob& j = job();
  const std::lock_guard lock(j.mutex);
  const CallerName name(routine);
  Options options;
  if (Status read = report(read_options(nullptr, &options)); !read) return error_code(read);
  auto id = UniqueId::create(for_other_hosts(options));
  if (!id) return error_code(id.status());
  const std::string text = id->text();
  *uniqueid = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (text.size() >= sizeof(uniqueid->internal))
    return refuse(routine, Code::kInternal,
                  fmt::format("the unique id has {} characters, more than fit", text.size()));
  text.copy(uniqueid->internal, text.size());
  ids().push_back(std::move(id).value());
  return NVSHMEMX_SUCCESS;
}

int set_attr_uniqueid_args(const char* routine, int pe, int npes,
                           const nvshmemx_uniqueid_t* uniqueid, nvshmemx_init_attr_t* attr) {
  if (uniqueid == nullptr || attr == nullptr || npes < 1 || pe < 0 || pe >= npes)
    return refuse(routine, Code::kInvalidArgument,
                  fmt::format("PE {} of {}, unique id at {}, attributes at {}: the PE is below "
                              "their number, and neither pointer is null",
                              pe, npes, fmt::ptr(uniqueid), fmt::ptr(attr)));
  nvshmemx_uniqueid_args_t& args = attr->args.uid_args;
  args.id = const_cast<nvshmemx_uniqueid_t*>(uniqueid);
  args.myrank = pe;
  args.nranks = npes;
  return NVSHMEMX_SUCCESS;
}

int set_attr_mpi_comm_args(const char* routine, void* comm, nvshmemx_init_attr_t* attr) {
  if (comm == nullptr || attr == nullptr)
    return refuse(routine, Code::kInvalidArgument, "neither pointer may be null");
  attr->mpi_comm = comm;
  return NVSHMEMX_SUCCESS;
}

// --- queries -------------------------------------------------------------------------------------

int init_status(const char*) {
  return job().runtime == nullptr ? NVSHMEM_STATUS_NOT_INITIALIZED : NVSHMEM_STATUS_IS_INITIALIZED;
}

void query_thread(const char* routine, int* provided) {
  if (runtime(routine) != nullptr) *provided = job().level;
}

int my_pe(const char* routine) { return pe_of(runtime(routine)); }

int n_pes(const char* routine) { return npes_of(runtime(routine)); }

void info_get_version(const char*, int* major, int* minor) {
  *major = NVSHMEM_MAJOR_VERSION;
  *minor = NVSHMEM_MINOR_VERSION;
}

void info_get_name(const char*, char* name) {
  static_assert(sizeof(NVSHMEM_VENDOR_STRING) <= NVSHMEM_MAX_NAME_LEN);
  std::memcpy(name, NVSHMEM_VENDOR_STRING, sizeof(NVSHMEM_VENDOR_STRING));
}

void vendor_get_version_info(const char*, int* major, int* minor, int* patch) {
  *major = NVSHMEM_VENDOR_MAJOR_VERSION;
  *minor = NVSHMEM_VENDOR_MINOR_VERSION;
  *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

}  // namespace

// --- what calls need to go on --------------------------------------------------------------------

Runtime* runtime(const char* routine) {
  const ProcessJob& j = job();
  if (j.runtime != nullptr) [[likely]] {
    tell_modules_that_wait(*j.runtime);
    return j.runtime;
  }
  refuse(routine, Code::kInvalidArgument,
         j.has_ended ? "called after nvshmem_finalize"
                     : "nvshmem_init has not been called, which must come first");
  return nullptr;
}

Runtime* runtime_if_any() { return job().runtime; }

int thread_level() { return job().level; }

int error_code(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return NVSHMEMX_SUCCESS;
    case Code::kInvalidArgument:
    case Code::kOutOfRange: return NVSHMEMX_ERROR_INVALID_VALUE;
    case Code::kNotSymmetric: return NVSHMEMX_ERROR_SYMMETRY;
    case Code::kUnsupported: return NVSHMEMX_ERROR_NOT_SUPPORTED;
    case Code::kOutOfMemory: return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    default: return NVSHMEMX_ERROR_INTERNAL;
  }
}

void settle_failure(const Status& status) {
  if (!is_misuse(status.code())) end_job(job().runtime, status);
}

int refuse(const char* routine, Code code, std::string_view why, const char* file, int line) {
  return error_code(report(Status::error(code, fmt::format("{}: {}", routine, why), file, line)));
}

}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "job.def.h"
#define WEFT_NVSHMEM_HOST WEFT_NVSHMEM_DEFINE
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
