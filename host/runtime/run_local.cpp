// A job whose PEs are threads of this process.
#include <weft/runtime.hpp>

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "host/runtime/impl.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

using Body = std::function<Status(Runtime&)>;

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

Status run_local(int npes, const std::function<Status(Runtime&)>& body, const Options& options) {
  if (npes < 1)
    return report(Status::error(Code::kInvalidArgument,
                                fmt::format("run_local: argument npes is {}; a job has at least 1 "
                                            "PE",
                                            npes)));
  if (Status good = options.verify(); !good.is_ok()) return report(std::move(good));
  std::vector<std::unique_ptr<Bootstrap>> bootstraps = make_local_bootstraps(npes, options);
  FirstFailure failure;
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < bootstraps.size(); ++pe) {
    try {
      threads.emplace_back([&, pe] {
        set_log_pe(static_cast<int>(pe));
        Runtime::Impl::run_pe(std::move(bootstraps[pe]), options, body, [&](const Status& status) {
          failure.note(status);
        }).ignore();  // noted
      });
    } catch (const std::system_error& error) {
      failure.note(Status::error(
          Code::kOutOfMemory,
          fmt::format("run_local: no thread for PE {} of {}: {}", pe, npes, error.what())));
      bootstraps[pe]->abort(1, failure.get().text());
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return report(failure.get());
}

}  // namespace weft
