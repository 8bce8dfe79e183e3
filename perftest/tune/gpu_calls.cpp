// The driver's functions are declared here, so that the program is built without CUDA, and runs
// where there is none. Handles are pointers; the names' versions are those of CUDA 12.
#include "perftest/tune/gpu_calls.hpp"

#include <dlfcn.h>

#include <string>

#include <fmt/format.h>

#include "perftest/status.hpp"

namespace weft::perf::tune {
namespace {

using Handle = void*;

struct Driver {
  int (*stream_create)(Handle*, unsigned);
  int (*stream_synchronize)(Handle);
  int (*stream_destroy)(Handle);
  int (*begin_capture)(Handle, int);
  int (*end_capture)(Handle, Handle*);
  int (*instantiate)(Handle*, Handle, unsigned long long);
  int (*upload)(Handle, Handle);
  int (*launch)(Handle, Handle);
  int (*exec_destroy)(Handle);
  int (*graph_destroy)(Handle);
  int (*event_create)(Handle*, unsigned);
  int (*event_record)(Handle, Handle);
  int (*event_elapsed)(float*, Handle, Handle);
  int (*event_destroy)(Handle);
};
constexpr int kThreadLocalCapture = 1;
constexpr unsigned kNonBlockingStream = 1;

Result<Driver> open_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status::error(Code::kUnsupported, dlerror());
  Driver made{};
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
  find("cuStreamCreate", made.stream_create);
  find("cuStreamSynchronize", made.stream_synchronize);
  find("cuStreamDestroy_v2", made.stream_destroy);
  find("cuStreamBeginCapture_v2", made.begin_capture);
  find("cuStreamEndCapture", made.end_capture);
  find("cuGraphInstantiateWithFlags", made.instantiate);
  find("cuGraphUpload", made.upload);
  find("cuGraphLaunch", made.launch);
  find("cuGraphExecDestroy", made.exec_destroy);
  find("cuGraphDestroy", made.graph_destroy);
  find("cuEventCreate", made.event_create);
  find("cuEventRecord", made.event_record);
  find("cuEventElapsedTime", made.event_elapsed);
  find("cuEventDestroy_v2", made.event_destroy);
  if (missing.empty()) return made;
  return Status::error(
      Code::kUnsupported,
      fmt::format("libcuda.so.1 lacks {}: its driver is older than CUDA 12", missing));
}

Status of(int error, const char* what) {
  if (error == 0) return Status::ok();
  return Status::error(Code::kInternal, fmt::format("{}: CUDA's error {}", what, error));
}

class GpuCalls : public Calls {
 public:
  GpuCalls(const Driver& driver, Handle stream, int count)
      : driver_(driver), stream_(stream), count_(count) {}
  GpuCalls(const GpuCalls&) = delete;
  GpuCalls& operator=(const GpuCalls&) = delete;
  ~GpuCalls() override {
    if (exec_ != nullptr) driver_.exec_destroy(exec_);
    for (Handle event : events_)
      if (event != nullptr) driver_.event_destroy(event);
  }
  Status capture(const std::function<Status(Stream)>& call) {
    for (Handle& event : events_) RETURN_IF_ERROR(of(driver_.event_create(&event, 0), "an event"));
    RETURN_IF_ERROR(of(driver_.begin_capture(stream_, kThreadLocalCapture), "to begin a capture"));
    Status status;
    for (int i = 0; status && i < count_; ++i) status = call(stream_);
    Handle graph = nullptr;
    const int ended = driver_.end_capture(stream_, &graph);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(of(ended, "to end a capture"));
    const int made = driver_.instantiate(&exec_, graph, 0);
    driver_.graph_destroy(graph);
    RETURN_IF_ERROR(of(made, "a graph"));
    RETURN_IF_ERROR(of(driver_.upload(exec_, stream_), "a graph's upload"));
    return of(driver_.stream_synchronize(stream_), "a stream");
  }
  Result<double> run() override {
    RETURN_IF_ERROR(of(driver_.event_record(events_[0], stream_), "an event"));
    RETURN_IF_ERROR(of(driver_.launch(exec_, stream_), "a graph's launch"));
    RETURN_IF_ERROR(of(driver_.event_record(events_[1], stream_), "an event"));
    RETURN_IF_ERROR(of(driver_.stream_synchronize(stream_), "a graph"));
    float ms = 0;
    RETURN_IF_ERROR(of(driver_.event_elapsed(&ms, events_[0], events_[1]), "a time"));
    return 1e3 * ms / count_;
  }

 private:
  const Driver& driver_;
  const Handle stream_;
  const int count_;
  Handle exec_ = nullptr, events_[2] = {};
};

class GpuRecorder : public Recorder {
 public:
  GpuRecorder(const Driver& driver, Handle stream) : driver_(driver), stream_(stream) {}
  GpuRecorder(const GpuRecorder&) = delete;
  GpuRecorder& operator=(const GpuRecorder&) = delete;
  ~GpuRecorder() override { driver_.stream_destroy(stream_); }
  Result<std::unique_ptr<Calls>> record(int count,
                                        const std::function<Status(Stream)>& call) override {
    auto made = std::make_unique<GpuCalls>(driver_, stream_, count);
    RETURN_IF_ERROR(made->capture(call));
    return std::unique_ptr<Calls>(std::move(made));
  }

 private:
  const Driver driver_;
  const Handle stream_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> gpu_recorder() {
  ASSIGN_OR_RETURN(const Driver driver, open_driver());
  Handle stream = nullptr;
  RETURN_IF_ERROR(of(driver.stream_create(&stream, kNonBlockingStream), "a stream"));
  return std::unique_ptr<Recorder>(std::make_unique<GpuRecorder>(driver, stream));
}

}  // namespace weft::perf::tune
