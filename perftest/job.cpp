#include "perftest/job.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "perftest/contents.hpp"

namespace weft::perf {

Result<std::unique_ptr<Job>> Job::create(Runtime& runtime, const Options& options) {
  std::unique_ptr<Job> job(new Job(runtime, options));
  const auto npes = static_cast<std::size_t>(runtime.npes());
  ASSIGN_OR_RETURN(job->reports_, runtime.callocate<Report>(2 * npes));
  ASSIGN_OR_RETURN(job->done_, runtime.callocate<std::uint64_t>(1));
  ASSIGN_OR_RETURN(job->clock_, runtime.callocate<Ns>(2 * std::size_t{options.blocks}));
  // PE 0's seed is everybody's: it travels as PE 0's first report.
  Report mine;
  mine.batch = options.seed
                   ? *options.seed
                   : (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  ASSIGN_OR_RETURN(const std::vector<Report> all, job->exchange(mine));
  job->seed_ = all.front().batch;
  return job;
}

std::uint64_t Job::fresh_key() { return mix(seed_, ++keys_); }

Result<void*> Job::symmetric_bytes(std::size_t bytes) {
  ASSIGN_OR_RETURN(void* memory, runtime_.allocate_bytes(bytes));
  if (memory != nullptr) {
    std::memset(memory, 0, bytes);
    buffers_.push_back(memory);
  }
  return memory;
}

Status Job::release() {
  RETURN_IF_ERROR(runtime_.barrier());
  while (!buffers_.empty()) {
    void* const memory = buffers_.back();
    buffers_.pop_back();
    RETURN_IF_ERROR(runtime_.free(memory));
  }
  return Status::ok();
}

Status Job::rest(bool has_no_part) {
  using namespace std::chrono_literals;
  constexpr auto kLongest = 4000us;  // a sample is longer by as much at most
  constexpr auto kPatience = 10s;    // then the barrier tells what is wrong
  ++parts_;
  if (leads()) {
    for (int pe = 1; pe < npes(); ++pe) RETURN_IF_ERROR(ctx().signal(set(done_, parts_), pe));
    return Status::ok();
  }
  const auto is_done = [&] { return __atomic_load_n(done_, __ATOMIC_RELAXED) >= parts_; };
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (auto pause = 20us; has_no_part && !is_done(); pause = std::min(2 * pause, kLongest)) {
    std::this_thread::sleep_for(pause);
    if (std::chrono::steady_clock::now() > until) break;
  }
  return Status::ok();
}

Result<std::vector<Report>> Job::exchange(const Report& mine) {
  const auto n = static_cast<std::size_t>(npes());
  Report* const set = reports_ + parity_ * n;
  parity_ ^= 1;
  for (int pe = 0; pe < npes(); ++pe) RETURN_IF_ERROR(ctx().put(set + this->pe(), &mine, 1, pe));
  RETURN_IF_ERROR(runtime_.barrier());
  return std::vector<Report>(set, set + n);
}

}  // namespace weft::perf
