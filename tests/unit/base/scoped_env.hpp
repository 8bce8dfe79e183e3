// Environment variables and the log, for one test: both are as before when it ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/environment.hpp"
#include "src/base/log.hpp"

namespace weft {

class ScopedEnv {
 public:
  void set(const std::string& name, const std::string& value) {
    old_.emplace_back(name, environment_value(name));
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  // Variables that the caller of the tests has set must not reach them.
  void clear_weft() {
    for (const auto& [name, value] : environment_with_prefix("WEFT_")) {
      old_.emplace_back(name, value);
      ::unsetenv(name.c_str());
    }
  }
  ~ScopedEnv() {
    for (auto entry = old_.rbegin(); entry != old_.rend(); ++entry) {
      if (entry->second) {
        ::setenv(entry->first.c_str(), entry->second->c_str(), 1);
      } else {
        ::unsetenv(entry->first.c_str());
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> old_;
};

// Sends the log to a file of its own and reads it back.
class CapturedLog {
 public:
  explicit CapturedLog(const std::string& levels) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        ::testing::TempDir() + "weft-" + std::to_string(::getpid()) + "-" + test->name() + ".log";
    std::filesystem::remove(path_);
    const Status configured = configure_log(levels, path_);
    EXPECT_TRUE(configured.is_ok()) << configured.to_string();
  }
  ~CapturedLog() {
    EXPECT_TRUE(configure_log("warn", "").is_ok());
    std::filesystem::remove(path_);
  }

  std::string text() const {
    std::ifstream file(path_);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string path_;
};

}  // namespace weft
