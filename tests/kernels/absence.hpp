// A member that makes no call, and those that do: each of them gets a report of it in the end.
// Shared by the PEs of a job that are threads.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/runtime.hpp>

#include "tests/support/status.hpp"

namespace weft::kernels::test {

class Absence {
 public:
  explicit Absence(int callers) : callers_(callers) {}
  // For a caller whose kernels have ended. It stays until all callers have theirs: a PE that leaves
  // is lost to the others, which is another report.
  void expect_report(Runtime& runtime, const std::string& text = "") {
    Status health;
    for (int i = 0; i < kLongest && health.is_ok(); ++i) {
      health = runtime.health();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_CODE(health, Code::kTimeout);
    EXPECT_THAT(std::string(health.text()), ::testing::HasSubstr(text));
    ++reported_;
    outlast();
  }
  // For the member that is missing: its operator takes what the callers send until they have ended.
  void outlast() const {
    for (int i = 0; i < kLongest && reported_ < callers_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(reported_, callers_);
  }

 private:
  static constexpr int kLongest = 60000;  // ms
  const int callers_;
  std::atomic<int> reported_{0};
};

}  // namespace weft::kernels::test
