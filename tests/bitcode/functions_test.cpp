// The functions of the bitcode library on the CPU target: each at every scope, in a job of PEs that
// are threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/device/bitcode.h>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/status.hpp"

extern "C" weft::DeviceContext weft_current_device_context;

namespace weft {
namespace {

// clang-format off
#define WEFT_ALL(ONE)                                                                           \
  ONE(put) ONE(put_nbi) ONE(get) ONE(get_nbi) ONE(put_signal_set) ONE(put_signal_add)           \
  ONE(signal_set) ONE(signal_add) ONE(fence) ONE(quiet) ONE(sync) ONE(barrier)                  \
  ONE(broadcast) ONE(fcollect) ONE(wait_until_all_u32) ONE(wait_until_all_u64)                  \
  ONE(wait_until_all_i32) ONE(wait_until_all_i64)                                               \
  ONE(wait_until_u32) ONE(wait_until_u64) ONE(wait_until_i32) ONE(wait_until_i64)               \
  ONE(test_u32) ONE(test_u64) ONE(test_i32) ONE(test_i64)                                       \
  ONE(atomic_set_u32) ONE(atomic_set_u64) ONE(atomic_add_u32) ONE(atomic_add_u64)               \
  ONE(atomic_fetch_u32) ONE(atomic_fetch_u64) ONE(atomic_fetch_add_u32)                         \
  ONE(atomic_fetch_add_u64) ONE(atomic_swap_u32) ONE(atomic_swap_u64)                           \
  ONE(atomic_compare_swap_u32) ONE(atomic_compare_swap_u64)
// clang-format on

// The functions of one scope.
struct Functions {
#define WEFT_MEMBER(name) decltype(&weft_##name##_thread) name;
  WEFT_ALL(WEFT_MEMBER)
#undef WEFT_MEMBER
};
#define WEFT_BY_THREAD(name) weft_##name##_thread,
#define WEFT_BY_WARP(name) weft_##name##_warp,
#define WEFT_BY_BLOCK(name) weft_##name##_block,
constexpr Functions kThread = {WEFT_ALL(WEFT_BY_THREAD)};
constexpr Functions kWarp = {WEFT_ALL(WEFT_BY_WARP)};
constexpr Functions kBlock = {WEFT_ALL(WEFT_BY_BLOCK)};

constexpr std::uint64_t kBytes = 1000;

// Symmetric memory of the script.
struct Area {
  std::uint8_t from[kBytes], to[6][kBytes];
  std::uint64_t signal[6], wide;
  std::uint32_t narrow;
  std::uint16_t mine, told, all[3];
  Team world;
};

weft_address at(const volatile void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Every function, and what it returned: the same on all threads of the scope.
struct Script {
  const Functions* f;
  weft_address context;
  Area* area;
  std::vector<std::uint64_t>* seen;  // one for each thread

  void operator()() const {
    std::vector<std::uint64_t>& out = seen[dev::thread_rank()];
    const int pe = weft_my_pe(context), npes = weft_n_pes(context);
    const int right = (pe + 1) % npes;
    const auto note = [&](std::uint64_t value) { out.push_back(value); };
    note(weft_ptr(context, at(area), npes));
    move(note, right);
    count(note, right);
  }

  template <class Note>
  void move(Note note, int right) const {
    const weft_address from = at(area->from);
    note(f->put(context, at(area->to[0]), from, kBytes, right));
    note(f->fence(context));
    note(f->signal_add(context, at(&area->signal[0]), 3, right));
    note(f->wait_until_u64(context, at(&area->signal[0]), WEFT_GE, 3));
    note(f->put_signal_set(context, at(area->to[1]), from, kBytes, at(&area->signal[1]), 7, right));
    note(f->put_signal_add(context, at(area->to[2]), from, kBytes, at(&area->signal[2]), 9, right));
    note(f->signal_set(context, at(&area->signal[3]), 4, right));
    note(f->put_nbi(context, at(area->to[3]), from, kBytes, right));
    note(f->quiet(context));
    note(f->wait_until_i64(context, at(&area->signal[1]), WEFT_EQ, 7));
    note(f->wait_until_u64(context, at(&area->signal[2]), WEFT_GT, 8));
    note(f->wait_until_u64(context, at(&area->signal[3]), WEFT_NE, 0));
    note(f->get(context, at(area->to[4]), from, kBytes, right));
    note(f->get_nbi(context, at(area->to[5]), from, kBytes, right));
    note(f->barrier(context, 0));
  }

  // I alone update the words of the PE on my right, until the barrier.
  template <class Note>
  void count(Note note, int right) const {
    const weft_address narrow = at(&area->narrow), wide = at(&area->wide);
    f->atomic_set_u32(context, narrow, 5, right);
    f->atomic_set_u64(context, wide, std::uint64_t{5} << 40, right);
    f->quiet(context);
    note(f->atomic_fetch_u32(context, narrow, right));
    note(f->atomic_fetch_u64(context, wide, right) >> 40);
    note(f->atomic_fetch_add_u32(context, narrow, 3, right));
    note(f->atomic_fetch_add_u64(context, wide, std::uint64_t{3} << 40, right) >> 40);
    f->atomic_add_u32(context, narrow, 2, right);
    f->atomic_add_u64(context, wide, std::uint64_t{2} << 40, right);
    f->quiet(context);
    note(f->atomic_swap_u32(context, narrow, 100, right));
    note(f->atomic_swap_u64(context, wide, 100, right) >> 40);
    note(f->atomic_compare_swap_u32(context, narrow, 1, 9, right));
    note(f->atomic_compare_swap_u64(context, wide, 1, 9, right));
    note(f->atomic_compare_swap_u32(context, narrow, 100, static_cast<std::uint32_t>(-7), right));
    note(f->atomic_compare_swap_u64(context, wide, 100, static_cast<std::uint64_t>(-7), right));
    note(f->sync(context, at(&area->world)));
    note(f->wait_until_i32(context, narrow, WEFT_LE, -7));
    note(f->wait_until_u32(context, narrow, WEFT_GT, 7));
    note(f->test_i32(context, narrow, WEFT_LT, 0));
    note(f->test_u32(context, narrow, WEFT_LT, 100));
    note(f->test_i64(context, wide, WEFT_LT, 0));
    note(f->test_u64(context, wide, WEFT_LT, 100));
    note(f->wait_until_all_u64(context, at(area->signal), 4, WEFT_GE, 3));
    note(f->wait_until_all_i64(context, at(area->signal), 4, WEFT_LT, 10));
    note(f->wait_until_all_u32(context, narrow, 1, WEFT_NE, 0));
    note(
        f->wait_until_all_i32(context, narrow, 0, WEFT_EQ, 12345));  // no word: nothing to wait for
    note(f->broadcast(context, 0, at(&area->told), at(&area->mine), sizeof(area->mine), 0));
    note(
        f->fcollect(context, at(&area->world), at(area->all), at(&area->mine), sizeof(area->mine)));
  }
};

const std::vector<std::uint64_t> kExpected = {
    0,                                                      // ptr of a PE that there is not
    0, 0, 0, 1, 0,  0,  0,   0,   0,   1,   1, 1, 0, 0, 1,  // move
    5, 5, 5, 5, 10, 10, 100, 100, 100, 100,                 // the atomics
    1, 1, 1, 1, 0,  1,  0,                                  // sync, waits and tests
    1, 1, 1, 1, 1,  1,                                      // waits for several, collectives
};

struct Case {
  std::string name;
  const Functions* functions;
  unsigned threads;  // of one scope
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BitcodeFunctions : public ::testing::TestWithParam<Case> {};

Status play(Runtime& rt, const Case& c, bool mapped) {
  ASSIGN_OR_RETURN(Area* const area, rt.callocate<Area>(1));
  for (std::uint64_t i = 0; i < kBytes; ++i)
    area->from[i] = static_cast<std::uint8_t>(i + 31 * static_cast<std::uint64_t>(rt.pe()));
  area->world = rt.world();
  area->mine = static_cast<std::uint16_t>(500 + rt.pe());
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const DeviceContext* const context, rt.context().device_pointer());
  const int right = (rt.pe() + 1) % rt.npes();
  EXPECT_EQ(weft_my_pe(at(context)), rt.pe());
  EXPECT_EQ(weft_n_pes(at(context)), rt.npes());
  EXPECT_EQ(weft_ptr(at(context), at(area), right), at(rt.context().ptr(area, right)));
  EXPECT_EQ(weft_ptr(at(context), at(area), right) != 0, mapped);
  std::vector<std::vector<std::uint64_t>> seen(c.threads);
  RETURN_IF_ERROR(
      dev::launch({1, c.threads, 0}, Script{c.functions, at(context), area, seen.data()}));
  RETURN_IF_ERROR(dev::synchronize());
  for (const auto& each : seen) EXPECT_EQ(each, kExpected);
  for (int to = 0; to < 6; ++to) {
    const int other = to < 4 ? rt.pe() + rt.npes() - 1 : rt.pe() + 1;  // puts came, gets fetched
    const int start = 31 * (other % rt.npes());
    for (std::uint64_t i = 0; i < kBytes; ++i)
      if (area->to[to][i] != static_cast<std::uint8_t>(i + static_cast<std::uint64_t>(start)))
        return Status::error(Code::kInternal, "transfer " + std::to_string(to) + ", byte " +
                                                  std::to_string(i) + " is wrong");
  }
  EXPECT_EQ(area->told, 500);
  for (int pe = 0; pe < rt.npes(); ++pe) EXPECT_EQ(area->all[pe], 500 + pe);
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST_P(BitcodeFunctions, DoWhatTheDeviceApiDoes) {
  for (const int npes : {1, 2, 3})
    EXPECT_OK(run_local(npes, [](Runtime& rt) { return play(rt, GetParam(), true); }));
}

TEST(BitcodeTeams, TellTheirRanks) {
  EXPECT_OK(run_local(3, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Team back, rt.split_strided(rt.world(), 2, -1, 3));
    ASSIGN_OR_RETURN(const DeviceContext* const context, rt.context().device_pointer());
    EXPECT_EQ(weft_team_my_pe(at(context), at(&back)), 2 - rt.pe());
    EXPECT_EQ(weft_team_n_pes(at(context), at(&back)), 3);
    EXPECT_EQ(weft_team_my_pe(at(context), 0), rt.pe());
    EXPECT_EQ(weft_team_translate_pe(at(context), at(&back), 0, 0), 2);
    EXPECT_EQ(weft_team_translate_pe(at(context), 0, 0, at(&back)), 2);
    EXPECT_EQ(weft_team_translate_pe(at(context), at(&back), 7, 0), -1);
    return rt.barrier();
  }));
}

TEST(BitcodeContext, IsWhatTheHostHasStored) {
  EXPECT_OK(run_local(1, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(weft_current_device_context, rt.context().device());
    ASSIGN_OR_RETURN(int* const word, rt.allocate<int>(1));
    EXPECT_EQ(weft_n_pes(weft_current_context(0)), 1);
    EXPECT_EQ(weft_ptr(weft_current_context(0), at(word), 0), at(word));
    weft_current_device_context = {};
    return Status::ok();
  }));
}

// Through the ring, too: peers are not mapped.
TEST_P(BitcodeFunctions, ReachPeersThatAreNotMapped) {
  Options options;
  options.fault = "seed=1,late=1";
  EXPECT_OK(run_local(
      2, [](Runtime& rt) { return play(rt, GetParam(), false); }, options));
}

INSTANTIATE_TEST_SUITE_P(Scopes, BitcodeFunctions,
                         ::testing::Values(Case{"thread", &kThread, 1}, Case{"warp", &kWarp, 4},
                                           Case{"short_warp", &kWarp, 3},
                                           Case{"block", &kBlock, 6}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
