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
Function* fake_cuda_function(const char* name) {
  Function* found = nullptr;
  if (!Dynlib::open({&kFakeCuda, 1})->find(name, found).is_ok()) std::abort();
  return found;
}

inline FakeGpuLive fake_cuda_live() {
  static auto* const count = fake_cuda_function<FakeGpuCount>("fake_gpu_count");
  FakeGpuLive live{};
  count(&live);
  return live;
}

// The fake driver with such an environment, as long as it lives: "DEVICES=3 FAIL=cuMemMap:1:2".
class FakeCudaSettings {
 public:
  explicit FakeCudaSettings(const std::string& settings) {
    std::istringstream words(settings);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      names_.push_back("FAKE_CUDA_" + word.substr(0, equals));
      ::setenv(names_.back().c_str(), word.substr(equals + 1).c_str(), 1);
    }
    reload();
  }
  FakeCudaSettings(const FakeCudaSettings&) = delete;
  FakeCudaSettings& operator=(const FakeCudaSettings&) = delete;
  ~FakeCudaSettings() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    reload();
  }

 private:
  static void reload() { fake_cuda_function<FakeGpuReload>("fake_gpu_reload")(); }
  std::vector<std::string> names_;
};

}  // namespace weft::test
