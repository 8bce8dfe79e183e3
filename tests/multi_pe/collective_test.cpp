// Host collectives, PEs as threads and as processes, plain and with every unfenced put late:
// random sequences against a reference, large sizes, teams side by side, and what is refused.
#include <weft/collective.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <complex>
#include <random>
#include <thread>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/collective_call.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using script::Script;
using script::ScriptShape;
using script::Step;

class Collectives : public ::testing::TestWithParam<PeGroup> {};

struct Buffers {
  std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::size_t bytes = 0;
};

Result<Buffers> make_buffers(Runtime& rt, std::size_t bytes) {
  Buffers buffers;
  ASSIGN_OR_RETURN(buffers.src, rt.allocate<std::byte>(bytes));
  ASSIGN_OR_RETURN(buffers.dst, rt.allocate<std::byte>(bytes));
  buffers.bytes = bytes;
  return buffers;
}

Status play_step(Context& ctx, const Step& step, const Team& team, const Buffers& buffers) {
  Status status;
  script::with_any_type(step.type, [&](auto zero) {
    using T = decltype(zero);
    script::StepData<T> data(step, team, buffers.src, buffers.dst, buffers.bytes);
    data.prepare();
    status = script::call_on_host(ctx, team, step, data.dst(), data.src(), data.source_count());
    EXPECT_OK(status) << data.what();
    if (!status.is_ok()) return;
    EXPECT_EQ(data.check(), "");
    data.spoil();
  });
  return status;
}

Status play(Runtime& rt, const Script& script, const ScriptShape& shape) {
  ASSIGN_OR_RETURN(const std::vector<Team> teams, script::make_teams(rt, script));
  ASSIGN_OR_RETURN(const Buffers buffers, make_buffers(rt, script::script_buffer_bytes(shape)));
  ASSIGN_OR_RETURN(Context second, rt.create_context());
  std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
  for (const Step& step : script.steps) {
    const Team& team = teams[static_cast<std::size_t>(step.team)];
    if (random() % 4 == 0)
      for (std::uint64_t i = random() % 200; i > 0; --i) std::this_thread::yield();
    if (!team.is_member()) continue;
    RETURN_IF_ERROR(play_step(random() % 3 == 0 ? second : rt.context(), step, team, buffers));
  }
  return barrier(rt.context(), rt.world());
}

TEST_P(Collectives, RandomSequencesMatchTheReference) {
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.types = &script::kAllTypes;
  shape.steps = 100;
  std::mt19937_64 random(test_seed());
  const Script script = script::make_script(shape, random);
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) { return play(rt, script, shape); }));
}

// WEFT_CHECK=1 sends every put the slow way and compares the calls; what is right stays right.
TEST_P(Collectives, RandomSequencesMatchTheReferenceWhenChecked) {
  PeGroup group = GetParam();
  group.options.check = true;
  ScriptShape shape;
  shape.npes = group.npes;
  shape.steps = 50;
  std::mt19937_64 random(test_seed() + 1);
  const Script script = script::make_script(shape, random);
  EXPECT_OK(run_pes(group, [&](Runtime& rt) { return play(rt, script, shape); }));
}

TEST_P(Collectives, LargeBlocksArrive) {
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.most_bytes = 1 << 20;
  shape.most_bytes /= static_cast<std::size_t>(shape.npes);
  std::mt19937_64 random(test_seed() + 2);
  Script script = script::make_large_script(shape, random);
  for (Step& step : script.steps) {
    step.type = random() % 2 == 0 ? Element::kDouble : Element::kInt32;
    step.op = ReduceOp::kSum;
  }
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) { return play(rt, script, shape); }));
}

// Teams of disjoint members work at the same time, each at its own pace.
// Sum and product in rank order, in place and not, of arrays that are aligned as complex numbers
// are.
template <class T>
Status add_and_multiply(Runtime& rt, std::size_t count, bool in_place) {
  ASSIGN_OR_RETURN(T* const memory, rt.allocate<T>(3 * (count + 1)));
  auto* const src = reinterpret_cast<std::complex<T>*>(memory + 1);
  ASSIGN_OR_RETURN(T* const room, rt.allocate<T>(3 * (count + 1)));
  auto* const dst = in_place ? src : reinterpret_cast<std::complex<T>*>(room + 1);
  const auto value = [](int pe, std::size_t i) {
    return std::complex<T>(static_cast<T>(pe + 1), static_cast<T>(i % 7) - 3);
  };
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd})
    for (const bool scan : {false, true}) {
      for (std::size_t i = 0; i < count; ++i) src[i] = value(rt.pe(), i);
      RETURN_IF_ERROR(scan ? scan_inclusive(rt.context(), rt.world(), dst, src, count, op)
                           : reduce(rt.context(), rt.world(), dst, src, count, op));
      for (std::size_t i = 0; i < count; ++i) {
        std::complex<T> sum = value(0, i);
        for (int pe = 1; pe < (scan ? rt.pe() + 1 : rt.npes()); ++pe)
          sum = op == ReduceOp::kSum ? sum + value(pe, i) : sum * value(pe, i);
        if (dst[i] != sum) {
          ADD_FAILURE() << "element " << i << " of " << count << " on PE " << rt.pe();
          break;
        }
      }
      RETURN_IF_ERROR(rt.barrier());
    }
  EXPECT_CODE(reduce(rt.context(), rt.world(), dst, src, count, ReduceOp::kMax),
              Code::kInvalidArgument);
  return rt.barrier();
}

TEST_P(Collectives, ComplexNumbers) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    for (const std::size_t count : {0, 1, 3, 100, 5000})
      for (const bool in_place : {false, true}) {
        RETURN_IF_ERROR(add_and_multiply<float>(rt, count, in_place));
        RETURN_IF_ERROR(add_and_multiply<double>(rt, count, in_place));
      }
    return Status::ok();
  }));
}

// Without root_too the root's dst stays as it is, also with WEFT_CHECK.
TEST_P(Collectives, BroadcastLeavesTheRootAlone) {
  for (const bool check : {false, true}) {
    PeGroup group = GetParam();
    group.options.check = check;
    EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
        ASSIGN_OR_RETURN(auto* const src, rt.allocate<unsigned char>(bytes + 1));
        ASSIGN_OR_RETURN(auto* const dst, rt.allocate<unsigned char>(bytes + 1));
        for (int root = 0; root < rt.npes(); ++root) {
          std::fill_n(src, bytes + 1, static_cast<unsigned char>(rt.pe() + 1));
          std::fill_n(dst, bytes + 1, static_cast<unsigned char>(99));
          RETURN_IF_ERROR(broadcast_bytes(rt.context(), rt.world(), dst, src, bytes, root, false));
          const auto wanted = static_cast<unsigned char>(rt.pe() == root ? 99 : root + 1);
          EXPECT_EQ(std::count(dst, dst + bytes, wanted), static_cast<std::ptrdiff_t>(bytes));
          EXPECT_EQ(dst[bytes], 99);
          RETURN_IF_ERROR(rt.barrier());
        }
      }
      return Status::ok();
    }));
  }
}

TEST_P(Collectives, DisjointTeamsRunSideBySide) {
  const int npes = GetParam().npes;
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    const int half = (npes + 1) / 2;
    ASSIGN_OR_RETURN(const Team even, rt.split_strided(rt.world(), 0, 2, half));
    Team odd;
    if (npes > 1) {
      // Backwards, to have a negative stride.
      const int last = npes % 2 == 0 ? npes - 1 : npes - 2;
      ASSIGN_OR_RETURN(odd, rt.split_strided(rt.world(), last, -2, npes / 2));
    }
    const Team& mine = even.is_member() ? even : odd;
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::int64_t>(2));
    const std::int64_t rounds = even.is_member() ? 300 : 170;
    for (std::int64_t i = 1; i <= rounds; ++i) {
      words[0] = i * (mine.rank + 1);
      RETURN_IF_ERROR(reduce(rt.context(), mine, words + 1, words, 1, ReduceOp::kSum));
      EXPECT_EQ(words[1], i * mine.size * (mine.size + 1) / 2);
    }
    return rt.barrier();
  }));
}

// A barrier promises more than a sync: puts of the context are there.
TEST_P(Collectives, BarrierCompletesPuts) {
  const int npes = GetParam().npes;
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    const auto n = static_cast<std::size_t>(npes);
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(n * 2));
    for (std::uint64_t round = 1; round <= 50; ++round) {
      std::uint64_t* half = words + (round % 2) * n;
      const std::uint64_t value = round * 1000 + static_cast<std::uint64_t>(rt.pe());
      for (int pe = 0; pe < npes; ++pe)
        RETURN_IF_ERROR(rt.context().put_nbi(half + rt.pe(), &value, 1, pe));
      // A rendezvous before it, whose signals nobody waits for, makes no difference.
      if (round % 3 == 1) RETURN_IF_ERROR(sync(rt.context(), rt.world()));
      RETURN_IF_ERROR(barrier(rt.context(), rt.world()));
      for (std::size_t pe = 0; pe < n; ++pe) EXPECT_EQ(half[pe], round * 1000 + pe);
      if (round % 3 == 2) RETURN_IF_ERROR(barrier(rt.context(), rt.world()));
    }
    return Status::ok();
  }));
}

// A team that is made where another was, with other members, starts anew.
TEST_P(Collectives, TeamsAreMadeAgainWithTheSameId) {
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::int32_t>(2));
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 20; ++round) {
      std::vector<int> ranks;
      for (int pe = 0; pe < rt.npes(); ++pe) ranks.push_back(pe);
      std::shuffle(ranks.begin(), ranks.end(), random);
      ranks.resize(1 + random() % ranks.size());
      ASSIGN_OR_RETURN(Team team, rt.team_from_list(rt.world(), ranks));
      const std::uint64_t calls = random() % 9;
      if (!team.is_member()) continue;
      for (std::uint64_t i = 0; i < calls; ++i) {
        words[0] = 1;
        RETURN_IF_ERROR(scan_inclusive(rt.context(), team, words + 1, words, 1));
        EXPECT_EQ(words[1], team.rank + 1);
      }
      RETURN_IF_ERROR(rt.destroy(team));
    }
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, Collectives,
                         ::testing::ValuesIn(script::collective_groups({1, 2, 3, 4, 5, 7, 8, 16})),
                         pe_group_name);

// --- scale --------------------------------------------------------------------------------------

TEST(CollectivesAtScale, SixtyFourPes) {
  EXPECT_OK(run_local(64, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::int64_t>(2 * 100));
    for (int round = 0; round < 5; ++round) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{100}}) {
        for (std::size_t i = 0; i < count; ++i) words[i] = rt.pe() + static_cast<int>(i);
        RETURN_IF_ERROR(
            reduce(rt.context(), rt.world(), words + 100, words, count, ReduceOp::kSum));
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(words[100 + i], 64 * 63 / 2 + 64 * static_cast<std::int64_t>(i));
      }
      RETURN_IF_ERROR(barrier(rt.context(), rt.world()));
    }
    return Status::ok();
  }));
}

// --- refusals -----------------------------------------------------------------------------------

Options checked() {
  Options options;
  options.check = true;
  return options;
}

// Refused on all members alike, and the team works on afterwards.
TEST(CollectiveRefusals, WrongArgumentsAreNamed) {
  EXPECT_OK(run_local(3, [](Runtime& rt) -> Status {
    Context& ctx = rt.context();
    const Team& world = rt.world();
    ASSIGN_OR_RETURN(auto* data, rt.callocate<double>(64));
    double local[4] = {};
    auto text = [](const Status& status) { return std::string(status.text()); };

    Status status = broadcast(ctx, world, data, data + 8, 1, 3);
    EXPECT_CODE(status, Code::kOutOfRange);
    EXPECT_THAT(text(status), ::testing::HasSubstr("root 3"));
    EXPECT_CODE(broadcast(ctx, world, data, data + 8, 1, -1), Code::kOutOfRange);

    status = reduce(ctx, world, data, data + 8, 1, ReduceOp::kXor);
    EXPECT_CODE(status, Code::kInvalidArgument);
    EXPECT_THAT(text(status), ::testing::HasSubstr("xor of double"));
    EXPECT_CODE(reduce(ctx, world, data, data + 8, 1, static_cast<ReduceOp>(99)),
                Code::kInvalidArgument);
    EXPECT_CODE(
        reduce_elements(ctx, world, data, data + 8, 1, static_cast<Element>(99), ReduceOp::kSum),
        Code::kInvalidArgument);

    status = fcollect(ctx, world, data, static_cast<const double*>(local), 1);
    EXPECT_FALSE(status.is_ok());
    EXPECT_THAT(text(status), ::testing::HasSubstr("src"));
    EXPECT_CODE(fcollect(ctx, world, static_cast<double*>(nullptr), data, 1),
                Code::kInvalidArgument);
    EXPECT_FALSE(alltoall(ctx, world, data, data, std::size_t{1} << 61).is_ok());
    EXPECT_FALSE(alltoall(ctx, world, data, data, std::size_t{1} << 40).is_ok());
    EXPECT_FALSE(fcollect(ctx, world, data, data, ~std::size_t{0}).is_ok());
    EXPECT_FALSE(reduce(ctx, world, data, data, ~std::size_t{0}, ReduceOp::kSum).is_ok());
    EXPECT_FALSE(alltoalls(ctx, world, data, data, 0, 1, 1).is_ok());
    EXPECT_FALSE(alltoalls(ctx, world, data, data, 1, -2, 1).is_ok());
    auto* odd = reinterpret_cast<double*>(reinterpret_cast<std::byte*>(data) + 4);
    EXPECT_CODE(reduce_elements(ctx, world, odd, data, 1, Element::kDouble, ReduceOp::kSum),
                Code::kInvalidArgument);

    EXPECT_CODE(sync(ctx, Team{}), Code::kInvalidArgument);
    ASSIGN_OR_RETURN(const Team first, rt.split_strided(world, 0, 1, 1));
    if (!first.is_member()) {
      EXPECT_CODE(barrier(ctx, first), Code::kInvalidArgument);
    }
    Team strange = world;
    strange.rank = (world.rank + 1) % 3;
    EXPECT_CODE(sync(ctx, strange), Code::kInvalidArgument);
    strange = world;
    strange.id = 1000000;
    EXPECT_CODE(sync(ctx, strange), Code::kInvalidArgument);

    // Nothing of this was sent: the members are still in step.
    data[0] = rt.pe();
    RETURN_IF_ERROR(reduce(ctx, world, data, data, 1, ReduceOp::kSum));
    EXPECT_EQ(data[0], 3);
    return rt.barrier();
  }));
}

TEST(CollectiveRefusals, CollectThatDoesNotFitFailsOnAllAlike) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* data, rt.callocate<std::byte>(1 << 16));
    const std::size_t heap_end = std::size_t{1} << 30;
    Status status = collect_bytes(rt.context(), rt.world(), data + (1 << 15), data, 1 << 14);
    EXPECT_OK(status);
    // Each one's own block would fit, all together do not.
    std::byte* end = data;
    while (rt.context().ptr(end + 4096, rt.pe()) != nullptr && end < data + heap_end) end += 4096;
    status = collect_bytes(rt.context(), rt.world(), end - 4096, data, 4096);
    EXPECT_FALSE(status.is_ok());
    EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr("dst"));
    return rt.barrier();
  }));
}

// All members check the arguments that only one of them reads, or those with something to bring.
TEST(CollectiveRefusals, WhatIsWrongForSomeIsRefusedByAll) {
  for (const bool check : {false, true}) {
    Options options;
    options.check = check;
    options.wait_timeout = 20;
    EXPECT_OK(run_local(
        3,
        [](Runtime& rt) -> Status {
          Context& ctx = rt.context();
          const Team& world = rt.world();
          ASSIGN_OR_RETURN(auto* data, rt.callocate<double>(64));
          double local[4] = {};
          for (const double* src : std::initializer_list<const double*>{local, data}) {
            const bool wrong = src == local;
            const Status cast = broadcast(ctx, world, data + 8, src, 2, 1);
            EXPECT_EQ(cast.is_ok(), !wrong);
            // Rank 1 has nothing to bring, and rank 0 nothing to send from.
            const std::size_t mine = rt.pe() == 1 ? 0 : 2;
            EXPECT_EQ(collect(ctx, world, data + 8, src, mine).is_ok(), !wrong);
            EXPECT_FALSE(collect(ctx, world, wrong ? local : nullptr, data, mine).is_ok());
          }
          if (rt.options().check) {
            EXPECT_CODE(broadcast(ctx, world, data + 1, data, 2, 0), Code::kInvalidArgument);
            EXPECT_FALSE(collect(ctx, world, data + 1, data, rt.pe() == 2 ? 2 : 0).is_ok());
          }
          // The members are still in step.
          data[0] = rt.pe();
          RETURN_IF_ERROR(reduce(ctx, world, data, data, 1, ReduceOp::kSum));
          EXPECT_EQ(data[0], 3);
          return rt.barrier();
        },
        options));
  }
}

// Null is fine for no elements, in all calls.
TEST(CollectiveRefusals, NullIsFineForNothing) {
  for (const bool check : {false, true}) {
    Options options;
    options.check = check;
    EXPECT_OK(run_local(
        3,
        [](Runtime& rt) -> Status {
          Context& ctx = rt.context();
          const Team& world = rt.world();
          double* const none = nullptr;
          const double* const nothing = nullptr;
          EXPECT_OK(broadcast(ctx, world, none, nothing, 0, 1));
          EXPECT_OK(fcollect(ctx, world, none, nothing, 0));
          EXPECT_OK(collect(ctx, world, none, nothing, 0));
          EXPECT_OK(alltoall(ctx, world, none, nothing, 0));
          EXPECT_OK(alltoalls(ctx, world, none, nothing, 2, 3, 0));
          EXPECT_OK(reduce(ctx, world, none, nothing, 0, ReduceOp::kSum));
          EXPECT_OK(reducescatter(ctx, world, none, nothing, 0, ReduceOp::kSum));
          EXPECT_OK(scan_inclusive(ctx, world, none, nothing, 0));
          EXPECT_OK(scan_exclusive(ctx, world, none, nothing, 0));
          const int next = (rt.pe() + 1) % rt.npes();
          EXPECT_OK(ctx.put(none, nothing, 0, next));
          EXPECT_OK(ctx.put_nbi(none, nothing, 0, next));
          EXPECT_OK(ctx.get(none, nothing, 0, next));
          EXPECT_OK(ctx.get_nbi(none, nothing, 0, next));
          EXPECT_OK(ctx.put_strided(nullptr, nullptr, 2, 3, 8, 0, next));
          EXPECT_OK(ctx.get_strided(nullptr, nullptr, 2, 3, 8, 0, next));
          EXPECT_OK(wait_until_all(ctx, nothing, 0, nullptr, Cmp::kEq, 1.0));
          EXPECT_OK(rt.free(nullptr));
          EXPECT_OK(rt.adopt({}));
          // One brings something, the others nothing; there is one buffer to bring it to.
          ASSIGN_OR_RETURN(auto* data, rt.callocate<double>(2));
          data[1] = 5;
          RETURN_IF_ERROR(
              collect(ctx, world, data, rt.pe() == 1 ? data + 1 : nullptr, rt.pe() == 1 ? 1 : 0));
          EXPECT_EQ(data[0], 5);
          return rt.barrier();
        },
        options));
  }
}

TEST(CollectiveRefusals, CheckFindsOverlaps) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        Context& ctx = rt.context();
        ASSIGN_OR_RETURN(auto* data, rt.callocate<int>(64));
        EXPECT_CODE(reduce(ctx, rt.world(), data + 1, data, 2, ReduceOp::kSum),
                    Code::kInvalidArgument);
        EXPECT_OK(reduce(ctx, rt.world(), data + 2, data, 2, ReduceOp::kSum));
        EXPECT_OK(reduce(ctx, rt.world(), data, data, 2, ReduceOp::kSum));
        EXPECT_CODE(fcollect(ctx, rt.world(), data, data + 1, 2), Code::kInvalidArgument);
        EXPECT_CODE(alltoall(ctx, rt.world(), data, data, 2), Code::kInvalidArgument);
        return rt.barrier();
      },
      checked()));
}

TEST(CollectiveRefusals, CheckComparesTheCallsOfAllMembers) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        Context& ctx = rt.context();
        const Team& world = rt.world();
        ASSIGN_OR_RETURN(auto* data, rt.callocate<int>(64));
        const auto mine = static_cast<std::size_t>(rt.pe() == 2 ? 1 : 0);
        auto expect = [](const Status& status, const char* part) {
          EXPECT_FALSE(status.is_ok());
          EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr(part));
        };
        expect(reduce(ctx, world, data + 8 * mine, data + 32, 2, ReduceOp::kSum), "dst");
        expect(reduce(ctx, world, data, data + 32, 2 + mine, ReduceOp::kSum), "bytes");
        expect(reduce(ctx, world, data, data + 32, 2, mine == 1 ? ReduceOp::kMax : ReduceOp::kSum),
               "int32 max");
        expect(broadcast(ctx, world, data, data + 32, 2, static_cast<int>(mine)), "root");
        expect(mine == 1 ? sync(ctx, world) : fcollect(ctx, world, data, data + 32, 1), "fcollect");
        expect(alltoalls(ctx, world, data, data + 32, 1, 1 + static_cast<int>(mine), 1), "strides");
        data[0] = 1;
        RETURN_IF_ERROR(reduce(ctx, world, data, data, 1, ReduceOp::kSum));
        EXPECT_EQ(data[0], 3);
        return rt.barrier();
      },
      checked()));
}

// --- failures -----------------------------------------------------------------------------------

TEST(CollectiveFailures, AMissingMemberIsNamedAndTheTeamIsGivenUp) {
  Options options;
  options.wait_timeout = 1;
  std::atomic<bool> seen{false};
  EXPECT_OK(run_local(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team both, rt.team_from_list(rt.world(), {1, 0}));
        ASSIGN_OR_RETURN(auto* words, rt.callocate<int>(2));
        while (rt.pe() == 1 && !seen.load()) std::this_thread::yield();  // stays away
        if (rt.pe() == 1) return Status::ok();
        const Status first = sync(rt.context(), both);
        EXPECT_CODE(first, Code::kTimeout);
        EXPECT_THAT(std::string(first.text()),
                    ::testing::AllOf(::testing::HasSubstr("sync on PE 0, which waits for PE 1"),
                                     ::testing::HasSubstr("wanted >= 1")));
        const Status second = reduce(rt.context(), both, words, words + 1, 1, ReduceOp::kSum);
        EXPECT_CODE(second, Code::kTimeout);
        EXPECT_THAT(std::string(second.text()), ::testing::HasSubstr("out of step"));
        seen.store(true);
        return Status::ok();
      },
      options));
}

}  // namespace
}  // namespace weft
