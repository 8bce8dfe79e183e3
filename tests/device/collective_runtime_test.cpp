// Collectives in kernels of runtimes: alternating with host collectives on the same teams; and what
// is refused.
#include <weft/device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "src/base/status.hpp"
#include "tests/device/collective_play.hpp"
#include "tests/device/world.hpp"
#include "tests/multi_pe/collective_call.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using script::Script;
using script::ScriptShape;
using script::Step;

class DeviceCollectives : public ::testing::TestWithParam<PeGroup> {};

TEST_P(DeviceCollectives, HostAndKernelsAlternateOnATeam) {
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.types = &test::kKernelTypes;
  std::mt19937_64 made_from(test_seed());
  const Script script = script::make_script(shape, made_from);
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const DeviceContext first, rt.context().device());
    ASSIGN_OR_RETURN(Context second, rt.create_context());
    ASSIGN_OR_RETURN(const DeviceContext other, second.device());
    test::RuntimePe pe(rt, first);
    auto call = [&](std::mt19937_64& random, std::uint64_t chance, const Step& step,
                    const Team& team, const auto& data) {
      const bool is_second = random() % 3 == 0;
      if (random() % 4 != 0) {
        test::call_in_kernel(pe, is_second ? other : first, chance, step, team, data);
      } else {
        EXPECT_OK(script::call_on_host(is_second ? second : rt.context(), team, step, data.dst(),
                                       data.src(), data.source_count()))
            << data.what();
      }
    };
    test::play(pe, script, shape, call);
    return Status::ok();
  }));
}

TEST_P(DeviceCollectives, BlocksUseTeamsOfTheirOwn) {
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    test::RuntimePe pe(rt, handle);
    test::use_a_team_per_block(pe);
    return Status::ok();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, DeviceCollectives,
                         ::testing::ValuesIn(script::collective_groups({1, 2, 3, 5, 8})),
                         pe_group_name);

// --- refusals and failures -----------------------------------------------------------------------

template <class Call>
struct OneCall {
  DeviceContext handle;
  Call call;
  std::atomic<int>* refused;
  void operator()() const {
    if (!call(dev::Context(handle), dev::Block{})) refused->fetch_add(1);
  }
};

// How many of three threads were told false, and what the runtime's health says then.
template <class Call>
Status expect_refused(Runtime& rt, Call call, const std::string& text) {
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  std::atomic<int> refused{0};
  dev::Grid grid;
  grid.threads = 3;
  RETURN_IF_ERROR(dev::launch(grid, OneCall<Call>{handle, call, &refused}));
  RETURN_IF_ERROR(dev::synchronize());
  EXPECT_EQ(refused.load(), 3);
  Status health;
  for (int i = 0; i < 10000 && health.is_ok(); ++i) {
    health = rt.health();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(std::string(health.text()), ::testing::HasSubstr(text));
  return Status::ok();
}

TEST(DeviceCollectiveRefusals, ARootThatIsNone) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<int>(4));
    const Team world = rt.world();
    return expect_refused(
        rt,
        [=](const dev::Context& ctx, dev::Block scope) {
          return dev::broadcast(ctx, scope, world, words, words + 2, 1, 2);
        },
        "root 2 is not a rank");
  }));
}

TEST(DeviceCollectiveRefusals, ATeamOfOthers) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Team first, rt.split_strided(rt.world(), 0, 1, 1));
    if (first.is_member()) return Status::ok();
    return expect_refused(
        rt, [=](const dev::Context& ctx, dev::Block scope) { return dev::sync(ctx, scope, first); },
        "not a member");
  }));
}

TEST(DeviceCollectiveRefusals, ACountThatIsTooLarge) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<int>(4));
    const Team world = rt.world();
    return expect_refused(
        rt,
        [=](const dev::Context& ctx, dev::Block scope) {
          return dev::fcollect(ctx, scope, world, words, words, ~std::size_t{0} / 8);
        },
        "fcollect");
  }));
}

TEST(DeviceCollectiveFailures, AMissingMemberIsNamed) {
  Options options;
  options.wait_timeout = 1;
  std::atomic<bool> seen{false};
  EXPECT_OK(run_local(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team both, rt.team_from_list(rt.world(), {1, 0}));
        while (rt.pe() == 1 && !seen.load()) std::this_thread::yield();  // stays away
        if (rt.pe() == 1) return Status::ok();
        const Status status = expect_refused(
            rt,
            [=](const dev::Context& ctx, dev::Block scope) {
              return dev::barrier(ctx, scope, both);
            },
            "for PE 1");
        seen.store(true);
        return status;
      },
      options));
}

}  // namespace
}  // namespace weft
