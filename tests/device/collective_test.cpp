// Collectives in kernels at every scope, peers mapped and behind the ring; several teams in one
// grid.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/device/collective_play.hpp"
#include "tests/device/world.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/random.hpp"

namespace weft::test {
namespace {

class CollectiveTest : public ::testing::TestWithParam<std::tuple<Way, int>> {
 protected:
  Way way() const { return std::get<0>(GetParam()); }
  int npes() const { return std::get<1>(GetParam()); }
};

TEST_P(CollectiveTest, KernelsCallEveryKind) {
  script::ScriptShape shape;
  shape.npes = npes();
  shape.types = &kKernelTypes;
  std::mt19937_64 made_from(test_seed());
  const script::Script script = script::make_script(shape, made_from);
  on_pes(way(), npes(), [&](Pe& pe) {
    play(pe, script, shape,
         [&](std::mt19937_64&, std::uint64_t chance, const script::Step& step, const Team& team,
             const auto& data) { call_in_kernel(pe, pe.handle(), chance, step, team, data); });
  });
}

TEST_P(CollectiveTest, BlocksUseTeamsOfTheirOwn) { on_pes(way(), npes(), use_a_team_per_block); }

TEST_P(CollectiveTest, CallsOfManySizesFollowEachOther) {
  on_pes(way(), npes(), [&](Pe& pe) {
    std::vector<int> all;
    for (int i = 0; i < pe.npes(); ++i) all.push_back((i + 1) % pe.npes());
    const Team turned = pe.team(all);
    call_with_many_sizes<dev::Thread>(pe, pe.world(), 1);
    call_with_many_sizes<dev::Warp>(pe, turned, kWarp);
    call_with_many_sizes<dev::Block>(pe, turned, 2 * kWarp * static_cast<unsigned>(pe.npes()));
    call_with_many_sizes<dev::Block>(pe, pe.world(), kWarp + 1);
  });
}

// Runtimes have tests of their own, which also call on the host.
INSTANTIATE_TEST_SUITE_P(Ways, CollectiveTest,
                         ::testing::Combine(::testing::Values(Way::kMapped, Way::kPacked,
                                                              Way::kRing),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace weft::test
