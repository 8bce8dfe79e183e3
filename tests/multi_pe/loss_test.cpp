// Waits in kernels and on streams, operators and loops of tests end when the job does: a PE is
// killed, leaves by _exit or aborts, while the others wait. Their deadline is far beyond the test's
// own time.
#include <weft/device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kLost = 1;

enum class Place { kWord, kBarrier, kReduce, kRing, kStream, kStreamBarrier, kOperator, kTests };
enum class End { kKilled, kExited, kAborted };

struct Param {
  Place place;
  End end;
};
std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  constexpr const char* kPlaces[] = {"word",   "barrier",        "reduce",   "ring",
                                     "stream", "stream_barrier", "operator", "tests"};
  constexpr const char* kEnds[] = {"killed", "exited", "aborted"};
  return std::string(kPlaces[static_cast<int>(info.param.place)]) + "_" +
         kEnds[static_cast<int>(info.param.end)];
}

struct WaitsForWord {
  DeviceContext handle;
  std::uint64_t* word;
  WEFT_DEVICE void operator()() const {
    dev::Context(handle).wait_until(dev::Block{}, word, Cmp::kEq, std::uint64_t{1});
  }
};
struct InBarrier {
  DeviceContext handle;
  Team team;
  WEFT_DEVICE void operator()() const { dev::barrier(dev::Context(handle), dev::Block{}, team); }
};
struct InReduce {
  DeviceContext handle;
  Team team;
  std::uint64_t* words;
  WEFT_DEVICE void operator()() const {
    dev::reduce<ReduceOp::kSum>(dev::Context(handle), dev::Block{}, team, words, words, 1);
  }
};
// A program's loop: it ends when the word comes, or with the test's failure.
Status test_until_set(Runtime& rt, const std::uint64_t* word) {
  for (;;) {
    ASSIGN_OR_RETURN(const bool is_set, test(rt.context(), word, Cmp::kEq, std::uint64_t{1}));
    if (is_set) return Status::ok();
  }
}
constexpr std::size_t kCount = 10000;
Status reduce_by(kernels::AllReduce& all_reduce) {
  std::vector<float> values(kCount, 1.0f);
  RETURN_IF_ERROR(all_reduce(nullptr, values.data(), values.data(), kCount));
  return dev::synchronize();
}
// As a user's program would go on: what it launched has ended when synchronize() returns.
Status wait_in(Place place, Runtime& rt, std::uint64_t* words) {
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  const dev::Grid shape{1, 4};
  if (place == Place::kStream || place == Place::kStreamBarrier) {
    OnStream queue(rt.context(), nullptr);
    if (place == Place::kStream)
      RETURN_IF_ERROR(queue.wait_until(words, Cmp::kEq, std::uint64_t{1}));
    else
      RETURN_IF_ERROR(queue.barrier(rt.world()));
  } else if (place == Place::kWord) {
    RETURN_IF_ERROR(dev::launch(shape, WaitsForWord{handle, words}));
  } else if (place == Place::kBarrier || place == Place::kRing) {
    RETURN_IF_ERROR(dev::launch(shape, InBarrier{handle, rt.world()}));
  } else {
    RETURN_IF_ERROR(dev::launch(shape, InReduce{handle, rt.world(), words}));
  }
  return dev::synchronize();
}

class LossTest : public ::testing::TestWithParam<Param> {};

TEST_P(LossTest, EndsWaitsAndIsNamed) {
  const Param param = GetParam();
  PeGroup group{Pes::kProcesses, 3, {}, {}};
  group.options.wait_timeout = 6000;
  if (param.place == Place::kRing) group.options.fault = late_fault();  // maps no peer
  const auto ends = watch_pes(group, [param](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(2));
    std::optional<kernels::AllReduce> all_reduce;
    if (param.place == Place::kOperator) {
      ASSIGN_OR_RETURN(auto made, kernels::AllReduce::create(rt, {.max_count = kCount}));
      all_reduce.emplace(std::move(made));
      RETURN_IF_ERROR(reduce_by(*all_reduce));  // once with all
    }
    if (rt.pe() == kLost) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the others wait by then
      if (param.end == End::kKilled) kill(getpid(), SIGKILL);
      if (param.end == End::kExited) _exit(0);
      rt.abort(3, "enough");
      return rt.health();
    }
    if (param.place == Place::kTests) {
      const Status over = test_until_set(rt, words);
      EXPECT_EQ(over.code(), rt.health().code()) << over.to_string();
    } else {
      RETURN_IF_ERROR(all_reduce ? reduce_by(*all_reduce) : wait_in(param.place, rt, words));
    }
    const Status health = rt.health();
    EXPECT_THAT(health.code(), AnyOf(Code::kPeerLost, Code::kAborted)) << health.to_string();
    EXPECT_THAT(std::string(health.text()), HasSubstr("PE 1"));
    return health;
  });
  if (is_pe_process()) return;
  for (const PeEnd& end : ends) {
    EXPECT_FALSE(end.failed) << end.log;
    if (&end == &ends[kLost]) continue;
    EXPECT_EQ(end.signal, 0) << end.log;
    EXPECT_THAT(end.log, HasSubstr("PE 1")) << end.log;
  }
}

std::vector<Param> all() {
  std::vector<Param> params;
  for (const Place place : {Place::kWord, Place::kBarrier, Place::kReduce, Place::kRing,
                            Place::kStream, Place::kStreamBarrier, Place::kOperator, Place::kTests})
    for (const End end : {End::kKilled, End::kExited, End::kAborted})
      params.push_back({place, end});
  return params;
}

INSTANTIATE_TEST_SUITE_P(Waits, LossTest, ::testing::ValuesIn(all()), name_of);

}  // namespace
}  // namespace weft
