// Weft's device API in kernels that NVRTC compiles: for each kind of GPU, with no header but
// Weft's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/rtc/nvrtc.hpp"
#include "tests/rtc/sources.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Source {
  const char* name;
  const char* text;
  std::vector<std::string> options;
};
void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }

class RtcTest : public ::testing::TestWithParam<std::tuple<std::string, Source>> {
 protected:
  void SetUp() override {
    const auto nvrtc = Nvrtc::open();
    if (!nvrtc) GTEST_SKIP() << nvrtc.status().text();
  }
};

// NVRTC also assembles and links for the GPU, which fails on a function that is not there.
TEST_P(RtcTest, CompilesToWholeKernels) {
  const auto& [gpu, source] = GetParam();
  const auto compiled = Nvrtc::open()->compile(source.text, gpu, source.options);
  ASSERT_OK(compiled.status());
  EXPECT_THAT(compiled->ptx, AllOf(HasSubstr(".visible .entry"), HasSubstr(".target " + gpu),
                                   Not(HasSubstr(".extern .func"))));
  EXPECT_THAT(compiled->cubin, HasSubstr("ELF"));
}

std::string test_name(const ::testing::TestParamInfo<RtcTest::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RtcTest,
    ::testing::Combine(::testing::Values("sm_80", "sm_90"),
                       ::testing::Values(Source{"pass", kPass, {}},
                                         Source{"pass_in_cpp20", kPass, {"-std=c++20"}},
                                         Source{"moves_by_thread", kMoves, {"-DSCOPE=Thread"}},
                                         Source{"moves_by_warp", kMoves, {"-DSCOPE=Warp"}},
                                         Source{"moves_by_block", kMoves, {"-DSCOPE=Block"}},
                                         Source{"words", kWords, {}},
                                         Source{"collectives", kCollectives, {"-default-device"}})),
    test_name);

// As <cuda/std/cstddef> leaves it.
TEST(Rtc, AnOffsetofThatIsNoConstantDoesNoHarm) {
  const auto nvrtc = Nvrtc::open();
  if (!nvrtc) GTEST_SKIP() << nvrtc.status().text();
  const std::string before =
      "#define offsetof(type, member) (unsigned long)((char*)&((type*)0)->member - (char*)0)\n";
  EXPECT_OK(nvrtc->compile(before + kPass, "sm_90"));
}

TEST(Rtc, HostHeadersAreNotSeen) {
  const auto nvrtc = Nvrtc::open();
  if (!nvrtc) GTEST_SKIP() << nvrtc.status().text();
  const auto compiled = nvrtc->compile("#include <vector>\n", "sm_90");
  EXPECT_THAT(std::string(compiled.status().text()), HasSubstr("vector"));
}

}  // namespace
}  // namespace weft
