// How a barrier or sync is proved: everyone writes to everyone before it and looks after it.
#pragma once

#include <string>

#include "perftest/contents.hpp"
#include "perftest/floor/flags.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {

class BarrierBase : public Test {
 public:
  BarrierBase(Job& job, const Point& point) : job_(job), point_(point) {}

  Status allocate() {
    ASSIGN_OR_RETURN(slots_, job_.symmetric<std::uint64_t>(static_cast<std::size_t>(job_.npes())));
    ASSIGN_OR_RETURN(floor::FlagBarrier barrier, floor::FlagBarrier::create(job_));
    flags_ = std::move(barrier);
    return Status::ok();
  }

  Status prepare() override {
    key_ = job_.fresh_key();
    return Status::ok();
  }

  Result<Ns> run_floor(Count iters) override {
    if (!flags_.usable())
      return Status::error(Code::kUnsupported, "a peer's memory is not mapped here");
    return time_plain(iters, [&](Count) { flags_.wait(); });
  }

  // A few rounds; in each, what everyone wrote before must be here after.
  Status check() override {
    const auto n = static_cast<std::size_t>(job_.npes());
    Status first_wrong;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (std::size_t pe = 0; pe < n; ++pe) slots_[pe] = ~random_word(key_, round * n + pe);
      RETURN_IF_ERROR(meet());
      const std::uint64_t mine = random_word(key_, round * n + static_cast<std::size_t>(job_.pe()));
      for (int pe = 0; pe < job_.npes(); ++pe)
        RETURN_IF_ERROR(job_.ctx().put(slots_ + job_.pe(), &mine, 1, pe));
      RETURN_IF_ERROR(complete_and_meet());
      for (std::size_t pe = 0; pe < n; ++pe)
        if (slots_[pe] != random_word(key_, round * n + pe) && first_wrong.is_ok())
          first_wrong = wrong_data(
              "after the call", job_.pe(), "what PE " + std::to_string(pe) + " wrote before",
              std::to_string(slots_[pe]), std::to_string(random_word(key_, round * n + pe)));
      RETURN_IF_ERROR(meet());
    }
    return first_wrong;
  }

 protected:
  static constexpr std::uint64_t kRounds = 3;

  virtual Status meet() = 0;               // one call of what is tested
  virtual Status complete_and_meet() = 0;  // the same, with earlier puts complete

  Job& job_;
  const Point point_;

 private:
  std::uint64_t* slots_ = nullptr;
  floor::FlagBarrier flags_;
  std::uint64_t key_ = 0;
};

inline constexpr std::string_view kFlagBarrier =
    "dissemination by hand: one flag store and one flag spin a round";

}  // namespace weft::perf
