// The fake driver from a test's side. WEFT_FAKE_CUDA is its file.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/dynlib.hpp"
#include "tests/support/fake_gpu/control.hpp"

namespace weft::test {

inline const std::string kFakeCuda = WEFT_FAKE_CUDA;

template <class Function>
Function* fake_gpu_function(const char* name) {
  Function* found = nullptr;
  if (!Dynlib::open({&kFakeCuda, 1})->find(name, found).is_ok()) std::abort();
  return found;
}

inline FakeGpuLive fake_gpu_live() {
  static auto* const count = fake_gpu_function<FakeGpuCount>("fake_gpu_count");
  FakeGpuLive live{};
  count(&live);
  return live;
}

// The fake driver with such an environment, as long as it lives: "DEVICES=3 FAIL=cuMemMap:1:2".
class FakeGpuSettings {
 public:
  explicit FakeGpuSettings(const std::string& settings) {
    std::istringstream words(settings);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      names_.push_back("FAKE_GPU_" + word.substr(0, equals));
      ::setenv(names_.back().c_str(), word.substr(equals + 1).c_str(), 1);
    }
    reload();
  }
  FakeGpuSettings(const FakeGpuSettings&) = delete;
  FakeGpuSettings& operator=(const FakeGpuSettings&) = delete;
  ~FakeGpuSettings() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    reload();
  }

 private:
  static void reload() { fake_gpu_function<FakeGpuReload>("fake_gpu_reload")(); }
  std::vector<std::string> names_;
};

}  // namespace weft::test
