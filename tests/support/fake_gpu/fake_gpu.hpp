// The fake driver from a test's side. WEFT_FAKE_LIBRARY is its file, WEFT_FAKE_HIP whether it is
// HIP's: the same tests are compiled for each.
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dynlib.hpp"
#include "src/platform/gpu/abi.hpp"
#include "src/platform/gpu/gpu.hpp"
#include "tests/support/fake_gpu/control.hpp"

namespace weft::test {

inline constexpr bool kIsHip = WEFT_FAKE_HIP;
inline const gpu::Library kFake{kIsHip ? gpu::Kind::kHip : gpu::Kind::kCuda, WEFT_FAKE_LIBRARY};

// The text of this vendor, where the two say different things.
inline std::string said_by(const char* cuda, const char* hip) { return kIsHip ? hip : cuda; }

// The name that this vendor has for a function of CUDA's.
inline std::string symbol(const std::string& cuda_name) {
  static const std::map<std::string, std::string> names = {
#define WEFT_ROW(member, cuda, hip, ...) {#cuda, #hip},
      WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  };
  const auto found = names.find(cuda_name);
  return kIsHip && found != names.end() ? found->second : cuda_name;
}

template <class Function>
Function* fake_gpu_function(const char* name) {
  Function* found = nullptr;
  if (!Dynlib::open({&kFake.file, 1})->find(name, found).is_ok()) std::abort();
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
