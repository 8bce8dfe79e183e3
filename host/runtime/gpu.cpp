// GPU memory joins a job: each PE takes a GPU, all map one another's.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "host/runtime/impl.hpp"
#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {

namespace {

// The number that WEFT_GPU gives; -1: auto.
Result<int> wanted_gpu(const Options& options, std::size_t gpus) {
  const std::string& text = options.gpu;
  if (text == "auto") return -1;
  int ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error != std::errc() || end != text.data() + text.size() || ordinal < 0)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("WEFT_GPU={}: auto, off, or the number of a GPU are accepted", text));
  if (static_cast<std::size_t>(ordinal) < gpus) return ordinal;
  return Status::error(
      Code::kOutOfRange,
      fmt::format("WEFT_GPU={}: this process sees {} GPUs, numbered from 0 (CUDA_VISIBLE_DEVICES, "
                  "HIP_VISIBLE_DEVICES and the like may hide some)",
                  text, gpus));
}

const char* kind_of(const Facts& facts) {
  return gpu::to_string(static_cast<gpu::Kind>(facts.gpu_kind));
}

}  // namespace

// The drivers to ask. One takes its time to start, so a program that has nothing to do with its
// GPUs is spared it.
std::vector<gpu::Library> Runtime::Impl::drivers(bool asks_all) const {
  const Options& options = job->options;
  std::vector<gpu::Library> all = {{gpu::Kind::kCuda, options.cuda_library},
                                   {gpu::Kind::kHip, options.hip_library}};
  if (asks_all) return all;
  std::vector<gpu::Library> likely;
  for (const gpu::Library& driver : all)
    if (!driver.file.empty() || has_gpu_kernels(driver.kind) || gpu::is_loaded(driver.kind))
      likely.push_back(driver);
  return likely.empty() && options.gpu != "auto" ? all : likely;
}

// The GPUs of the first driver that has some. Without any there are none, which only a PE that asks
// for one by number minds, or for a driver by name.
Status Runtime::Impl::find_gpus(Facts* mine, bool asks_all) {
  const Options& options = job->options;
  if (options.gpu == "off") return Status::ok();
  RETURN_IF_ERROR(wanted_gpu(options, SIZE_MAX).status());
  std::optional<Status> refused;
  for (const gpu::Library& driver : drivers(asks_all)) {
    const auto gpus = gpu::count_gpus(driver);
    if (gpus && *gpus > 0) {
      mine->gpus = *gpus;
      mine->gpu_kind = static_cast<std::uint32_t>(driver.kind);
      gpu_driver = driver;
      return wanted_gpu(options, static_cast<std::size_t>(*gpus)).status();
    }
    if (!gpus && !refused) refused = gpus.status();
    if (!gpus && !driver.file.empty()) return gpus.status();
    if (!gpus) LOG(kDebug, "runtime", "no GPU memory: {}", gpus.status().text());
  }
  if (options.gpu == "auto") return Status::ok();
  return refused ? *refused : wanted_gpu(options, 0).status();
}

// The one that the user's thread has made current, else one after the other on each host.
Result<int> Runtime::Impl::choose_gpu(const std::vector<Facts>& facts) const {
  const auto mine = static_cast<std::size_t>(job->pe);
  ASSIGN_OR_RETURN(const int wanted,
                   wanted_gpu(job->options, static_cast<std::size_t>(facts[mine].gpus)));
  if (wanted >= 0) return wanted;
  ASSIGN_OR_RETURN(const int current, gpu::current_gpu(gpu_driver));
  if (current >= 0) return current;
  const auto before =
      std::count_if(facts.begin(), facts.begin() + job->pe,
                    [&](const Facts& theirs) { return same_host(theirs, facts[mine]); });
  return static_cast<int>(before % facts[mine].gpus);
}

Status Runtime::Impl::open_gpu(const std::vector<Facts>& facts) {
  ASSIGN_OR_RETURN(const int ordinal, choose_gpu(facts));
  ASSIGN_OR_RETURN(Platform* const platform, gpu::platform(gpu_driver, ordinal));
  ASSIGN_OR_RETURN(const int current, gpu::current_gpu(gpu_driver));
  if (current < 0) RETURN_IF_ERROR(gpu::make_current(gpu_driver, ordinal));
  ASSIGN_OR_RETURN(auto space,
                   GpuSpace::create(*platform, ordinal, job->pe, job->npes, job->options));
  job->gpu.set(std::move(space));
  return Status::ok();
}

namespace {

// Why PEs of which some have a GPU have no memory on GPUs together; ok if they may.
Status why_apart(const std::vector<Facts>& facts) {
  const auto without = std::find_if(facts.begin(), facts.end(),
                                    [](const Facts& theirs) { return theirs.gpus == 0; });
  const auto with = std::find_if(facts.begin(), facts.end(),
                                 [](const Facts& theirs) { return theirs.gpus != 0; });
  if (without != facts.end())
    return Status::error(
        Code::kUnsupported,
        fmt::format("PE {} on {} has a GPU and PE {} on {} has none, so there is no symmetric GPU "
                    "memory; WEFT_GPU=off on all says that none is wanted",
                    with - facts.begin(), with->host_name(), without - facts.begin(),
                    without->host_name()));
  const auto other = std::find_if(facts.begin(), facts.end(), [&](const Facts& theirs) {
    return theirs.gpu_kind != facts[0].gpu_kind;
  });
  if (other == facts.end()) return Status::ok();
  return Status::error(
      Code::kUnsupported,
      fmt::format("PE 0 on {} uses {} and PE {} on {} uses {}: GPUs of one kind only share memory; "
                  "run PEs with the others as a job of their own, or set WEFT_GPU=off on all",
                  facts[0].host_name(), kind_of(facts[0]), other - facts.begin(),
                  other->host_name(), kind_of(*other)));
}

}  // namespace

// Every PE comes to the same end. GPUs that cannot be used are no reason to fail unless somebody
// asked for one by number: who allocates GPU memory hears why there is none.
Status Runtime::Impl::start_gpu(const std::vector<Facts>& facts) {
  const auto with = std::find_if(facts.begin(), facts.end(),
                                 [](const Facts& theirs) { return theirs.gpus != 0; });
  if (with == facts.end()) return Status::ok();
  if (job->options.ib_atomics == "nic")
    return Status::error(
        Code::kUnsupported,
        fmt::format(
            "WEFT_IB_ATOMICS=nic, and PE {} on {} has a GPU: its kernels would not be atomic "
            "with the RDMA device; set WEFT_GPU=off, or WEFT_IB_ATOMICS=owner, on all PEs",
            with - facts.begin(), with->host_name()));
  job->no_gpu = why_apart(facts);
  if (job->no_gpu.is_ok()) job->no_gpu = join_gpus(facts);
  if (job->no_gpu.is_ok()) return Status::ok();
  job->drop_gpu();
  if (job->options.gpu != "auto" && job->options.gpu != "off") return job->no_gpu;
  LOG(kWarn, "runtime", "{}", job->no_gpu.text());
  return Status::ok();
}

// The reason of this PE to keep the job's device memory with the host; null: none. Memory that was
// given to kernels, or lies where only host threads read it, stays as it is.
const char* Runtime::Impl::why_on_host() const {
  if (job->options.gpu == "off") return "has WEFT_GPU=off";
  if (job->options.ib_atomics == "nic") return "has WEFT_IB_ATOMICS=nic";
  if (has_host_kernels()) return "has kernels for host threads";
  if (job->has_given_device())
    return "has given kernels, or a stream, the memory of host threads already "
           "(Context::device(), OnStream)";
  const bool has_list = std::any_of(teams.begin(), teams.end(),
                                    [](const Team& team) { return team.list != nullptr; });
  return has_list ? "has a team that is not strided, whose list kernels on a GPU could not read"
                  : nullptr;
}

// Puts and gets of other threads go on meanwhile.
Status Runtime::Impl::look_for_gpus_again() {
  const auto has_none = [](const Facts& theirs) { return theirs.gpus == 0; };
  std::vector<Facts>& facts = job->facts;
  if (has_looked_again || job->gpu != nullptr || std::none_of(facts.begin(), facts.end(), has_none))
    return Status::ok();
  has_looked_again = true;
  struct Look {
    std::int32_t gpus = 0;
    std::uint32_t gpu_kind = 0;
    char why_on_host[128] = {};
  };
  Look mine;
  Facts found;
  {
    const std::lock_guard lock(teams_mutex);
    if (const char* const why = why_on_host())
      std::strncpy(mine.why_on_host, why, sizeof mine.why_on_host - 1);
  }
  if (mine.why_on_host[0] == 0) find_gpus(&found, true).ignore();  // a debug line has said why not
  mine.gpus = found.gpus;
  mine.gpu_kind = found.gpu_kind;
  RETURN_IF_ERROR(sync_all());
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather(bytes_of_value(mine)));
  std::string why;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(const Look theirs, value_of<Look>(all[pe], pe, "GPUs"));
    facts[pe].gpus = theirs.gpus;
    facts[pe].gpu_kind = theirs.gpu_kind;
    if (why.empty() && theirs.why_on_host[0] != 0)
      why = fmt::format("PE {} {}", pe, theirs.why_on_host);
  }
  if (why.empty() && std::all_of(facts.begin(), facts.end(), has_none)) why = "no PE sees a GPU";
  if (why.empty()) why = why_apart(facts).text();
  if (why.empty()) {
    const Status joined = join_late();
    if (joined.is_ok()) {
      job->no_gpu = Status::ok();
      return Status::ok();
    }
    why = joined.text();
  }
  why_host_memory = std::move(why);
  LOG(kInfo, "runtime", "allocate_device gives memory of the host: {}", why_host_memory);
  return Status::ok();
}

// All PEs are here, so those that wait for what device() gives do not wait for long.
Status Runtime::Impl::join_late() {
  const auto held = job->hold_device();
  const Status ready = job->has_given_device()
                           ? Status::error(Code::kUnsupported, "kernels use the host's already")
                           : Status::ok();
  RETURN_IF_ERROR(agree(*job->bootstrap, ready, "taking a GPU"));
  Status joined = join_gpus(job->facts);
  if (joined.is_ok()) return joined;
  job->drop_gpu();
  RETURN_IF_ERROR(job->start_progress());
  return joined;
}

// Adopted memory can be that of a GPU only where a driver is there.
Status Runtime::Impl::look_if_some_driver_is_loaded() {
  if (has_looked_again || job->gpu != nullptr) return Status::ok();
  const bool mine = gpu::is_loaded(gpu::Kind::kCuda) || gpu::is_loaded(gpu::Kind::kHip);
  RETURN_IF_ERROR(sync_all());
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather(bytes_of_value(mine)));
  bool any = false;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(const bool theirs, value_of<bool>(all[pe], pe, "drivers"));
    any = any || theirs;
  }
  return any ? look_for_gpus_again() : Status::ok();
}

// Kernels choose alike on all PEs, so all PEs have to reach all.
Status Runtime::Impl::agree_to_pack() {
  const bool mine = job->gpu->maps_all();
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather(bytes_of_value(mine)));
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(const bool theirs, value_of<bool>(all[pe], pe, "GPU maps"));
    if (!theirs) job->gpu->pack_nothing();
  }
  return Status::ok();
}

Status Runtime::Impl::join_gpus(const std::vector<Facts>& facts) {
  RETURN_IF_ERROR(agree(*job->bootstrap, open_gpu(facts), "taking a GPU"));
  RETURN_IF_ERROR(job->gpu->connect(*job->bootstrap, facts,
                                    [this] { return wired ? sync_all() : Status::ok(); }));
  RETURN_IF_ERROR(agree(*job->bootstrap, job->gpu->lay_out(), "laying out GPU memory"));
  RETURN_IF_ERROR(agree_to_pack());
  // Now, since nothing can be prepared while a stream is captured.
  RETURN_IF_ERROR(agree(*job->bootstrap, job->prepare_for_kernels(), "preparing for kernels"));
  job->heap->set_neighbour(&job->gpu->heap());
  LOG(kInfo, "runtime", "PE {} uses GPU {} through {}", job->pe, job->gpu->ordinal(),
      gpu::to_string(gpu_driver.kind));
  return Status::ok();
}

}  // namespace weft
