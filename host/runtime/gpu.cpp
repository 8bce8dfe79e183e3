// GPU memory joins a job: each PE takes a GPU, all map one another's.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "host/runtime/impl.hpp"
#include "host/transport/agree.hpp"
#include "src/base/dynlib.hpp"
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
      fmt::format("WEFT_GPU={}: this process sees {} GPUs, numbered from 0 (CUDA_VISIBLE_DEVICES "
                  "may hide some)",
                  text, gpus));
}

// By a framework, say.
bool is_driver_loaded() {
  const std::string name[] = {"libcuda.so.1"};
  return Dynlib::loaded(name).is_ok();
}

}  // namespace

// Without a driver there are none, which only a PE that asks for one by number minds. The driver
// takes its time to start, so a program that has nothing to do with GPUs is spared it.
Result<int> Runtime::Impl::count_gpus() const {
  const Options& options = job->options;
  if (options.gpu == "off") return 0;
  if (options.gpu == "auto" && options.cuda_library.empty() && !has_gpu_kernels() &&
      !is_driver_loaded())
    return 0;
  const auto gpus = gpu::gpus(options.cuda_library);
  RETURN_IF_ERROR(wanted_gpu(options, gpus ? gpus->size() : SIZE_MAX).status());
  if (gpus) return static_cast<int>(gpus->size());
  if (options.gpu != "auto" || !options.cuda_library.empty()) return gpus.status();
  LOG(kDebug, "runtime", "no GPU memory: {}", gpus.status().text());
  return 0;
}

// The one that the user's thread has made current, else one after the other on each host.
Result<int> Runtime::Impl::choose_gpu(const std::vector<Facts>& facts) const {
  const auto mine = static_cast<std::size_t>(job->pe);
  ASSIGN_OR_RETURN(const int wanted,
                   wanted_gpu(job->options, static_cast<std::size_t>(facts[mine].gpus)));
  if (wanted >= 0) return wanted;
  ASSIGN_OR_RETURN(const int current, gpu::current_gpu(job->options.cuda_library));
  if (current >= 0) return current;
  const auto before =
      std::count_if(facts.begin(), facts.begin() + job->pe,
                    [&](const Facts& theirs) { return same_host(theirs, facts[mine]); });
  return static_cast<int>(before % facts[mine].gpus);
}

Status Runtime::Impl::open_gpu(const std::vector<Facts>& facts) {
  const std::string& library = job->options.cuda_library;
  ASSIGN_OR_RETURN(const int ordinal, choose_gpu(facts));
  ASSIGN_OR_RETURN(Platform* const platform, gpu::platform(library, ordinal));
  ASSIGN_OR_RETURN(const int current, gpu::current_gpu(library));
  if (current < 0) RETURN_IF_ERROR(gpu::make_current(library, ordinal));
  ASSIGN_OR_RETURN(job->gpu,
                   GpuSpace::create(*platform, ordinal, job->pe, job->npes, job->options));
  return Status::ok();
}

// Every PE comes to the same end. GPUs that cannot be used are no reason to fail unless somebody
// asked for one by number: who allocates GPU memory hears why there is none.
Status Runtime::Impl::start_gpu(const std::vector<Facts>& facts) {
  const auto without = std::find_if(facts.begin(), facts.end(),
                                    [](const Facts& theirs) { return theirs.gpus == 0; });
  const auto with = std::find_if(facts.begin(), facts.end(),
                                 [](const Facts& theirs) { return theirs.gpus != 0; });
  if (with == facts.end()) return Status::ok();
  if (without != facts.end()) {
    job->no_gpu = Status::error(
        Code::kUnsupported,
        fmt::format("PE {} on {} has a GPU and PE {} on {} has none, so there is no symmetric GPU "
                    "memory; WEFT_GPU=off on all says that none is wanted",
                    with - facts.begin(), with->host_name(), without - facts.begin(),
                    without->host_name()));
  } else {
    job->no_gpu = join_gpus(facts);
  }
  if (job->no_gpu.is_ok()) return Status::ok();
  job->drop_gpu();
  if (job->options.gpu != "auto" && job->options.gpu != "off") return job->no_gpu;
  LOG(kWarn, "runtime", "{}", job->no_gpu.text());
  return Status::ok();
}

Status Runtime::Impl::join_gpus(const std::vector<Facts>& facts) {
  RETURN_IF_ERROR(agree(*job->bootstrap, open_gpu(facts), "taking a GPU"));
  RETURN_IF_ERROR(
      job->gpu->connect(*job->bootstrap, [this] { return wired ? rendezvous() : Status::ok(); }));
  RETURN_IF_ERROR(agree(*job->bootstrap, job->gpu->lay_out(), "laying out GPU memory"));
  // Now, since nothing can be prepared while a stream is captured.
  RETURN_IF_ERROR(agree(*job->bootstrap, job->device(0).status(), "preparing for kernels"));
  job->heap->set_neighbour(&job->gpu->heap());
  LOG(kInfo, "runtime", "PE {} uses GPU {}", job->pe, job->gpu->ordinal());
  return Status::ok();
}

}  // namespace weft
