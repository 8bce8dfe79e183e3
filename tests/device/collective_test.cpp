// Collectives in kernels at every scope, peers mapped and behind the ring, alternating with host
// collectives on the same teams; several teams in one grid; and what is refused.
#include <weft/device.hpp>
#include <weft/weft.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.hpp"
#include "tests/multi_pe/collective_call.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using script::Kind;
using script::Script;
using script::ScriptShape;
using script::Step;
using script::StepData;

const std::vector<Element> kKernelTypes = {Element::kInt32, Element::kDouble};

template <class F>
void with_kernel_type(Element element, F f) {
  if (element == Element::kInt32) return f(std::int32_t{});
  return f(double{});
}

// One step, called by every thread of the scope. Plain data, as a kernel's parameters are.
template <class T, class Scope>
struct StepKernel {
  DeviceContext handle;
  Team team;
  Kind kind;
  ReduceOp op;
  std::size_t count, source_count;
  int root;
  std::ptrdiff_t dst_stride, src_stride;
  T* dst;
  const T* src;
  std::atomic<int>* failures;

  void operator()() const {
    const dev::Context ctx(handle);
    if (!call(ctx, Scope{})) failures->fetch_add(1);
  }
  bool call(const dev::Context& ctx, Scope scope) const {
    switch (kind) {
      case Kind::kSync: return dev::sync(ctx, scope, team);
      case Kind::kBarrier: return dev::barrier(ctx, scope, team);
      case Kind::kBroadcast: return dev::broadcast(ctx, scope, team, dst, src, count, root);
      case Kind::kFcollect: return dev::fcollect(ctx, scope, team, dst, src, count);
      case Kind::kCollect: return dev::collect(ctx, scope, team, dst, src, source_count);
      case Kind::kAlltoall: return dev::alltoall(ctx, scope, team, dst, src, count);
      case Kind::kAlltoalls:
        return dev::alltoalls(ctx, scope, team, dst, src, dst_stride, src_stride, count);
      default: break;
    }
    return script::with_op<T>(op, [&](auto tag) {
      constexpr ReduceOp kOp = decltype(tag)::value;
      switch (kind) {
        case Kind::kReduce: return dev::reduce<kOp>(ctx, scope, team, dst, src, count);
        case Kind::kReduceScatter:
          return dev::reducescatter<kOp>(ctx, scope, team, dst, src, count);
        case Kind::kScanInclusive:
          return dev::scan_inclusive<kOp>(ctx, scope, team, dst, src, count);
        default: return dev::scan_exclusive<kOp>(ctx, scope, team, dst, src, count);
      }
    });
  }
};

template <class Scope, class T>
Status call_in_kernel(const DeviceContext& handle, unsigned threads, const Step& step,
                      const Team& team, const StepData<T>& data) {
  std::atomic<int> failures{0};
  StepKernel<T, Scope> kernel = {handle,          team,
                                 step.kind,       step.op,
                                 step.count,      data.source_count(),
                                 step.root,       step.dst_stride,
                                 step.src_stride, data.dst(),
                                 data.src(),      &failures};
  dev::Grid grid;
  grid.threads = threads;
  RETURN_IF_ERROR(dev::launch(grid, kernel));
  RETURN_IF_ERROR(dev::synchronize());
  EXPECT_EQ(failures.load(), 0) << data.what();
  return Status::ok();
}

// Who calls a step. Every member chooses for itself: they need not agree.
enum class Caller { kHost, kThread, kWarp, kBlock, kCallers };

template <class T>
Status call_by(Caller caller, Context& ctx, const Step& step, const Team& team,
               const StepData<T>& data) {
  if (caller == Caller::kHost)
    return script::call_on_host(ctx, team, step, data.dst(), data.src(), data.source_count());
  ASSIGN_OR_RETURN(const DeviceContext handle, ctx.device());
  if (caller == Caller::kThread) return call_in_kernel<dev::Thread>(handle, 1, step, team, data);
  if (caller == Caller::kWarp) return call_in_kernel<dev::Warp>(handle, 3, step, team, data);
  return call_in_kernel<dev::Block>(handle, 6, step, team, data);
}

Status play(Runtime& rt, const Script& script, const ScriptShape& shape) {
  ASSIGN_OR_RETURN(const std::vector<Team> teams, script::make_teams(rt, script));
  const std::size_t bytes = script::script_buffer_bytes(shape);
  ASSIGN_OR_RETURN(auto* src, rt.allocate<std::byte>(bytes));
  ASSIGN_OR_RETURN(auto* dst, rt.allocate<std::byte>(bytes));
  ASSIGN_OR_RETURN(Context second, rt.create_context());
  std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
  for (const Step& step : script.steps) {
    const Team& team = teams[static_cast<std::size_t>(step.team)];
    if (!team.is_member()) continue;
    const auto caller = static_cast<Caller>(random() % static_cast<unsigned>(Caller::kCallers));
    Context& ctx = random() % 3 == 0 ? second : rt.context();
    Status status;
    with_kernel_type(step.type, [&](auto zero) {
      StepData<decltype(zero)> data(step, team, src, dst, bytes);
      data.prepare();
      status = call_by(caller, ctx, step, team, data);
      EXPECT_OK(status) << data.what();
      EXPECT_EQ(data.check(), "") << "caller " << static_cast<int>(caller);
      data.spoil();
    });
    RETURN_IF_ERROR(status);
    if (::testing::Test::HasFailure()) break;
  }
  return rt.barrier();
}

class DeviceCollectives : public ::testing::TestWithParam<PeGroup> {};

TEST_P(DeviceCollectives, HostAndKernelsAlternateOnATeam) {
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.types = &kKernelTypes;
  shape.steps = 100;
  std::mt19937_64 random(test_seed());
  const Script script = script::make_script(shape, random);
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) { return play(rt, script, shape); }));
}

// Each block has a team of its own and calls many collectives in a row, without the host and
// without barriers in between.
struct ManyCalls {
  DeviceContext handle;
  const Team* teams;    // per block
  std::int64_t* words;  // per block: 4
  int rounds;
  std::atomic<int>* failures;

  void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block scope;
    const auto block = dev::platform::block_rank();
    const Team& team = teams[block];
    std::int64_t* mine = words + 4 * block;
    bool ok = true;
    for (int round = 1; ok && round <= rounds; ++round) {
      const int root = round % team.size;
      if (scope.rank() == 0) mine[0] = team.rank + round;
      ok = dev::broadcast(ctx, scope, team, mine + 1, mine, 1, root) && mine[1] == root + round;
      ok = scope.all(ok) && dev::reduce<ReduceOp::kSum>(ctx, scope, team, mine + 2, mine + 1, 1) &&
           mine[2] == std::int64_t{team.size} * (root + round);
      ok = scope.all(ok) &&
           dev::scan_exclusive<ReduceOp::kSum>(ctx, scope, team, mine + 3, mine, 1) &&
           mine[3] == std::int64_t{team.rank} * (team.rank - 1) / 2 + team.rank * round;
      ok = scope.all(ok);
    }
    if (!ok) failures->fetch_add(1);
  }
};

TEST_P(DeviceCollectives, BlocksUseTeamsOfTheirOwn) {
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    constexpr unsigned kBlocks = 3;
    std::vector<Team> teams;
    for (unsigned block = 0; block < kBlocks; ++block) {
      std::vector<int> ranks;  // rotated by the block's number
      for (int pe = 0; pe < rt.npes(); ++pe)
        ranks.push_back((pe + static_cast<int>(block)) % rt.npes());
      ASSIGN_OR_RETURN(const Team team, rt.team_from_list(rt.world(), ranks));
      teams.push_back(team);
    }
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::int64_t>(4 * kBlocks));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    std::atomic<int> failures{0};
    dev::Grid grid;
    grid.blocks = kBlocks;
    grid.threads = 3;
    RETURN_IF_ERROR(dev::launch(grid, ManyCalls{handle, teams.data(), words, 20, &failures}));
    RETURN_IF_ERROR(dev::synchronize());
    EXPECT_EQ(failures.load(), 0);
    return rt.barrier();
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
