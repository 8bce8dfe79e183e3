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
  // For a caller whose kernels have ended.
  void expect_report(Runtime& runtime, const std::string& text = "") {
    Status health;
    for (int i = 0; i < kLongest && health.is_ok(); ++i) {
      health = runtime.health();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_CODE(health, Code::kTimeout);
    EXPECT_THAT(std::string(health.text()), ::testing::HasSubstr(text));
    ++reported_;
  }
  // For the member that is missing: its operator takes what the callers send until they have ended.
  void outlast(int callers) const {
    for (int i = 0; i < kLongest && reported_ < callers; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(reported_, callers);
  }

 private:
  static constexpr int kLongest = 60000;  // ms
  std::atomic<int> reported_{0};
};

}  // namespace weft::kernels::test
