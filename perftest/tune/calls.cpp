#include "perftest/tune/calls.hpp"

#include <chrono>

#include <weft/kernels/stream.hpp>

#include "perftest/status.hpp"
#include "perftest/tune/gpu_calls.hpp"

namespace weft::perf::tune {
namespace {

using Call = std::function<Status(Stream)>;

class HostCalls : public Calls {
 public:
  HostCalls(Runtime& runtime, int count, Call call)
      : runtime_(runtime), count_(count), call_(std::move(call)) {}
  Result<double> run() override {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count_; ++i) RETURN_IF_ERROR(call_(nullptr));
    RETURN_IF_ERROR(kernels::synchronize(runtime_));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    return took.count() / count_;
  }

 private:
  Runtime& runtime_;
  const int count_;
  const Call call_;
};

class HostRecorder : public Recorder {
 public:
  explicit HostRecorder(Runtime& runtime) : runtime_(runtime) {}
  Result<std::unique_ptr<Calls>> record(int count, const Call& call) override {
    return std::unique_ptr<Calls>(std::make_unique<HostCalls>(runtime_, count, call));
  }

 private:
  Runtime& runtime_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(Runtime& runtime) {
  if (runtime.gpu() >= 0) return gpu_recorder();
  return std::unique_ptr<Recorder>(std::make_unique<HostRecorder>(runtime));
}

}  // namespace weft::perf::tune
