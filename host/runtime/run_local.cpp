// A job whose PEs are threads of this process.
#include <weft/runtime.hpp>

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "host/runtime/impl.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/base/thread.hpp"

namespace weft {

namespace {

using Body = std::function<Status(Runtime&)>;

// More than a process of any system may have threads that wait for each other in good time.
constexpr int kMostPes = 4096;

// The first failure, in time: the others' are its consequences.
class FirstFailure {
 public:
  void note(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (first_.is_ok()) first_ = status;
  }
  Status get() const { return first_; }  // once the threads are gone

 private:
  std::mutex mutex_;
  Status first_;
};

// A user's body may throw; Weft does not.
Status call(const Body& body, Runtime& runtime) {
  try {
    return body(runtime);
  } catch (const std::exception& thrown) {
    return Status::error(Code::kAborted, fmt::format("the body of PE {} threw an exception: {}",
                                                     runtime.pe(), thrown.what()));
  } catch (...) {
    return Status::error(Code::kAborted,
                         fmt::format("the body of PE {} threw an exception", runtime.pe()));
  }
}

}  // namespace

Status Runtime::Impl::run_pe(std::unique_ptr<Bootstrap> bootstrap, const Options& options,
                             const Body& body, const std::function<void(const Status&)>& note) {
  auto runtime = create(std::move(bootstrap), options);
  if (!runtime) {
    note(runtime.status());
    return runtime.status();
  }
  Status status = call(body, *runtime);
  if (!status.is_ok()) {
    note(status);
    runtime->abort(1, status.text());  // so that nobody waits for this PE
  }
  return status;
}

namespace {

Result<Thread> start_pe(std::size_t pe, std::unique_ptr<Bootstrap>& bootstrap,
                        const Options& options, const Body& body, FirstFailure& failure) {
  const ThreadPlan plan{.name = "weft-pe", .is_program = true};
  return start_thread(plan, [&bootstrap, &options, &body, &failure, pe] {
    set_log_pe(static_cast<int>(pe));
    Runtime::Impl::run_pe(std::move(bootstrap), options, body, [&failure](const Status& status) {
      failure.note(status);
    }).ignore();  // noted
  });
}

}  // namespace

Status run_local(int npes, const std::function<Status(Runtime&)>& body, const Options& options) {
  if (npes < 1)
    return report(Status::error(Code::kInvalidArgument,
                                fmt::format("run_local: argument npes is {}; a job has at least 1 "
                                            "PE",
                                            npes)));
  if (npes > kMostPes)
    return report(Status::error(
        Code::kOutOfRange,
        fmt::format("run_local: argument npes is {}; the threads of one process can be {} PEs at "
                    "most. weft-run makes each PE a process",
                    npes, kMostPes)));
  if (Status good = options.verify(); !good.is_ok()) return report(std::move(good));
  std::vector<std::unique_ptr<Bootstrap>> bootstraps = make_local_bootstraps(npes, options);
  FirstFailure failure;
  {
    std::vector<Thread> threads;  // joined at the end of the block
    for (std::size_t pe = 0; pe < bootstraps.size(); ++pe) {
      auto thread = start_pe(pe, bootstraps[pe], options, body, failure);
      if (thread.is_ok()) {
        threads.push_back(std::move(*thread));
        continue;
      }
      const Status refused = Status::error(
          thread.status().code(),
          fmt::format("run_local: PE {} of {}: {}", pe, npes, thread.status().text()));
      failure.note(refused);
      bootstraps[pe]->abort(1, refused.text());
      break;
    }
  }
  return report(failure.get());
}

}  // namespace weft
