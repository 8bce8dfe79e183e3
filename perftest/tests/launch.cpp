// Launching a kernel that does next to nothing.
#include <thread>
#include <vector>

#include "perftest/contents.hpp"
#include "perftest/tests/kernel.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {
namespace {

// Every thread leaves the same value, so it is known that all have run.
struct Mark {
  std::uint64_t* marks;
  std::uint64_t value;
  WEFT_DEVICE void operator()() const { marks[my_unit(dev::Thread{}).index] = value; }
};

class Launch : public Test {
 public:
  Launch(Job& job, const Point&)
      : job_(job), threads_(std::size_t{job.options().blocks} * job.options().threads) {}

  Status allocate() {
    ASSIGN_OR_RETURN(marks_, job_.symmetric<std::uint64_t>(threads_));
    return Status::ok();
  }

  Status prepare() override {
    value_ = job_.fresh_key();
    std::fill_n(marks_, threads_, ~value_);
    return Status::ok();
  }

  Result<Ns> run(Count iters) override {
    const dev::Grid grid{job_.options().blocks, job_.options().threads, 0};
    return time_loop(iters, [&](Count) {
      RETURN_IF_ERROR(dev::launch(grid, Mark{marks_, ++value_}));
      return dev::synchronize();
    });
  }

  Result<Ns> run_floor(Count iters) override {
    return time_plain(iters, [&](Count) {
      ++value_;
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < threads_; ++i)
        threads.emplace_back([this, i] { marks_[i] = value_; });
      for (std::thread& thread : threads) thread.join();
    });
  }

  Status check() override {
    for (std::size_t i = 0; i < threads_; ++i)
      if (marks_[i] != value_)
        return wrong_data("launch", job_.pe(), "the mark of thread " + std::to_string(i),
                          std::to_string(marks_[i]), std::to_string(value_));
    return Status::ok();
  }

 private:
  Job& job_;
  const std::size_t threads_;
  std::uint64_t* marks_ = nullptr;
  std::uint64_t value_ = 0;
};

}  // namespace

std::vector<Row> launch_rows() {
  return {
      {.name = "launch",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "launch of a kernel of -c blocks and -t threads, until it has run",
       .formula = "time = batch / launches",
       .floor = "creating and joining as many std::threads",
       .min_pes = 1,
       .make = make<Launch>},
  };
}

}  // namespace weft::perf
