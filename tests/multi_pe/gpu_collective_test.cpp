// Every collective on GPU memory, by host threads and on streams, and on streams of host threads:
// random sequences against a reference, large ones, elements of every width, and what is refused.
#include <weft/collective.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/collective_call.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using script::Kind;
using script::Script;
using script::ScriptShape;
using script::Step;

std::vector<PeGroup> groups(const std::vector<int>& npes) {
  Options on_gpus;
  library_of(on_gpus) = driver().file;
  on_gpus.gpu_heap_size = std::uint64_t{256} << 20;
  std::vector<PeGroup> all;
  for (const int n : npes)
    for (const Pes pes : {Pes::kThreads, Pes::kProcesses}) {
      all.push_back({pes, n, on_gpus, {}});
#ifdef FAKE_CUDA_LIBRARY
      all.push_back({pes, n, Options{}, {}});  // of host threads
#endif
    }
  return all;
}
std::string group_name(const ::testing::TestParamInfo<PeGroup>& info) {
  const Options& options = info.param.options;
  const bool on_host = options.cuda_library.empty() && options.hip_library.empty();
  return pe_group_name(info) + (on_host ? "" : "_gpu");
}

template <class T>
Status queue_on_stream(OnStream& q, const Team& team, const Step& step, T* dst, const T* src,
                       std::size_t source_count) {
  switch (step.kind) {
    case Kind::kSync: return q.sync(team);
    case Kind::kBarrier: return q.barrier(team);
    case Kind::kBroadcast: return q.broadcast(team, dst, src, step.count, step.root);
    case Kind::kFcollect: return q.fcollect(team, dst, src, step.count);
    case Kind::kCollect: return q.collect(team, dst, src, source_count);
    case Kind::kAlltoall: return q.alltoall(team, dst, src, step.count);
    case Kind::kAlltoalls:
      return q.alltoalls(team, dst, src, step.dst_stride, step.src_stride, step.count);
    case Kind::kReduce: return q.reduce(team, dst, src, step.count, step.op);
    case Kind::kReduceScatter: return q.reducescatter(team, dst, src, step.count, step.op);
    case Kind::kScanInclusive: return q.scan_inclusive(team, dst, src, step.count, step.op);
    default: return q.scan_exclusive(team, dst, src, step.count, step.op);
  }
}

// Symmetric memory for kernels, what a host thread sees of it, and a stream.
class Desk {
 public:
  static Result<std::unique_ptr<Desk>> create(Runtime& rt, std::size_t bytes) {
    std::unique_ptr<Desk> desk(new Desk(rt, bytes));
    ASSIGN_OR_RETURN(desk->src_, rt.allocate_device<std::byte>(bytes));
    ASSIGN_OR_RETURN(desk->dst_, rt.allocate_device<std::byte>(bytes));
    ASSIGN_OR_RETURN(desk->stream_, desk->platform().create_stream());
    return Result<std::unique_ptr<Desk>>(std::move(desk));  // nvcc copies what has a name
  }
  ~Desk() { EXPECT_OK(platform().destroy_stream(stream_)); }

  std::byte* src_copy() { return src_copy_.data(); }
  std::byte* dst_copy() { return dst_copy_.data(); }
  std::size_t bytes() const { return src_copy_.size(); }
  // Where what the copies hold at an address lies for the stream.
  template <class T>
  T* there(T* copy) {
    auto* const at = reinterpret_cast<std::byte*>(copy);
    const bool is_src = at >= src_copy() && at < src_copy() + bytes();
    return reinterpret_cast<T*>(is_src ? src_ + (at - src_copy()) : dst_ + (at - dst_copy()));
  }
  Status write() {
    RETURN_IF_ERROR(rt_.context().put(src_, src_copy(), bytes(), rt_.pe()));
    RETURN_IF_ERROR(rt_.context().put(dst_, dst_copy(), bytes(), rt_.pe()));
    return rt_.context().quiet();
  }
  Status read() {
    RETURN_IF_ERROR(rt_.context().get(src_copy(), src_, bytes(), rt_.pe()));
    return rt_.context().get(dst_copy(), dst_, bytes(), rt_.pe());
  }
  OnStream queue() { return OnStream(rt_.context(), stream_); }
  Status finish() { return platform().synchronize(stream_); }

 private:
  Desk(Runtime& rt, std::size_t bytes) : rt_(rt), src_copy_(bytes), dst_copy_(bytes) {}
  Platform& platform() const {
    return rt_.gpu() < 0 ? cpu_platform() : **gpu::platform(driver(), rt_.gpu());
  }

  Runtime& rt_;
  std::vector<std::byte> src_copy_, dst_copy_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  Stream stream_ = nullptr;
};

class GpuCollectives : public ::testing::TestWithParam<PeGroup> {
 protected:
  // body(rt, desk) on every PE.
  template <class Body>
  void at_desks(std::size_t bytes, Body body) {
    EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) -> Status {
      ASSIGN_OR_RETURN(const auto desk, Desk::create(rt, bytes));
      RETURN_IF_ERROR(body(rt, *desk));
      RETURN_IF_ERROR(desk->finish());
      RETURN_IF_ERROR(rt.health());
      return rt.barrier();
    }));
  }
};

// The arrays of a step start at an element of their own, not where memory does.
Status play_step(Runtime& rt, const Step& step, const Team& team, Desk& desk, bool on_stream) {
  Status status;
  script::with_any_type(step.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t src_shift = step.seed % 5 * sizeof(T);
    const std::size_t dst_shift = step.seed / 5 % 2 == 0 ? src_shift : step.seed % 7 * sizeof(T);
    script::StepData<T> data(step, team, desk.src_copy() + src_shift, desk.dst_copy() + dst_shift,
                             desk.bytes() - 8 * sizeof(T));
    data.prepare();
    status = desk.write();
    if (!status.is_ok()) return;
    T* const dst = desk.there(data.dst());
    const T* const src = desk.there(data.src());
    if (on_stream) {
      OnStream queue = desk.queue();
      status = queue_on_stream(queue, team, step, dst, src, data.source_count());
      if (status.is_ok()) status = desk.finish();
    } else {
      status = script::call_on_host(rt.context(), team, step, dst, src, data.source_count());
    }
    EXPECT_OK(status) << data.what();
    if (status.is_ok()) status = desk.read();
    if (!status.is_ok()) return;
    EXPECT_EQ(data.check(), "");
    data.spoil();
    status = desk.write();
  });
  return status;
}

Status play(Runtime& rt, const Script& script, const ScriptShape& shape) {
  ASSIGN_OR_RETURN(const std::vector<Team> teams, script::make_teams(rt, script));
  ASSIGN_OR_RETURN(const auto desk, Desk::create(rt, script::script_buffer_bytes(shape)));
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const Step& step = script.steps[i];
    const Team& team = teams[static_cast<std::size_t>(step.team)];
    if (team.is_member()) RETURN_IF_ERROR(play_step(rt, step, team, *desk, i % 3 != 0));
  }
  RETURN_IF_ERROR(rt.health());
  return rt.barrier();
}

std::vector<Element> types_on_gpus() {
  std::vector<Element> types = script::kAllTypes;
  std::erase(types, Element::kLongDouble);
  return types;
}

// Blocks of up to 128 KiB: by one block of threads and by a grid.
TEST_P(GpuCollectives, RandomSequencesMatchTheReference) {
  const std::vector<Element> types = types_on_gpus();
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.types = &types;
  shape.steps = take_turns(GetParam()) ? 40 : 120;
  shape.most_bytes = std::size_t{128} << 10;
  std::mt19937_64 random(test_seed());
  const Script script = script::make_script(shape, random);
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) { return play(rt, script, shape); }));
}

// By a grid and by copies.
TEST_P(GpuCollectives, LargeBlocksArrive) {
  const std::vector<Element> types = {Element::kDouble, Element::kInt32, Element::kHalf};
  ScriptShape shape;
  shape.npes = GetParam().npes;
  shape.types = &types;
  shape.most_bytes = std::size_t{5} << 20;
  std::mt19937_64 random(test_seed() + 1);
  const Script script = script::make_large_script(shape, random);
  EXPECT_OK(run_pes(GetParam(), [&](Runtime& rt) { return play(rt, script, shape); }));
}

// --- elements of every width ---------------------------------------------------------------------

std::byte sent(int from, int to, std::size_t e, std::size_t i) {
  return static_cast<std::byte>(1 + 7 * from + 31 * to + static_cast<int>(e * 5 + i * 3) % 97);
}

// `count` elements of `width` bytes to each, every other one here and every third one there, from
// and to arrays that begin `shift` bytes behind where memory does.
Status exchange_strided(Runtime& rt, Desk& desk, std::size_t width, std::size_t count,
                        std::size_t shift) {
  const auto n = static_cast<std::size_t>(rt.npes());
  constexpr auto kUnwritten = std::byte{0xa5};
  std::fill_n(desk.src_copy(), desk.bytes(), kUnwritten);
  std::fill_n(desk.dst_copy(), desk.bytes(), kUnwritten);
  std::vector<std::byte> wanted(desk.bytes(), kUnwritten);
  for (std::size_t e = 0; e < n * count; ++e)
    for (std::size_t i = 0; i < width; ++i) {
      const auto other = static_cast<int>(e / count);
      desk.src_copy()[shift + 2 * e * width + i] = sent(rt.pe(), other, e % count, i);
      wanted[shift + 3 * e * width + i] = sent(other, rt.pe(), e % count, i);
    }
  RETURN_IF_ERROR(desk.write());
  std::byte* const dst = desk.there(desk.dst_copy() + shift);
  const std::byte* const src = desk.there(desk.src_copy() + shift);
  RETURN_IF_ERROR(desk.queue().alltoalls_bytes(rt.world(), dst, src, 3, 2, width, count));
  RETURN_IF_ERROR(desk.finish());
  RETURN_IF_ERROR(desk.read());
  EXPECT_EQ(std::memcmp(desk.dst_copy(), wanted.data(), desk.bytes()), 0)
      << count << " of " << width << " bytes, " << shift << " bytes on";
  return Status::ok();
}

TEST_P(GpuCollectives, StridedElementsHaveAnyWidth) {
  at_desks(std::size_t{1} << 20, [](Runtime& rt, Desk& desk) -> Status {
    for (const std::size_t width : {1, 2, 3, 4, 8, 12, 16, 40, 48})
      for (const std::size_t shift : {0, 1, 4})
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{70000}})
          RETURN_IF_ERROR(exchange_strided(
              rt, desk, width, bytes / width / static_cast<std::size_t>(rt.npes()), shift));
    return Status::ok();
  });
}

// --- a root that keeps its own ------------------------------------------------------------------

TEST_P(GpuCollectives, BroadcastLeavesTheRootAloneWhereItShall) {
  at_desks(std::size_t{1} << 18, [](Runtime& rt, Desk& desk) -> Status {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{200001}})
      for (int root = 0; root < rt.npes(); ++root) {
        std::fill_n(desk.src_copy(), desk.bytes(), static_cast<std::byte>(rt.pe() + 1));
        std::fill_n(desk.dst_copy(), desk.bytes(), std::byte{99});
        RETURN_IF_ERROR(desk.write());
        std::byte* const dst = desk.there(desk.dst_copy());
        const std::byte* const src = desk.there(desk.src_copy());
        RETURN_IF_ERROR(desk.queue().broadcast_bytes(rt.world(), dst, src, bytes, root, false));
        RETURN_IF_ERROR(desk.finish());
        RETURN_IF_ERROR(desk.read());
        std::vector<std::byte> wanted(desk.bytes(), std::byte{99});
        if (rt.pe() != root) std::fill_n(wanted.data(), bytes, static_cast<std::byte>(root + 1));
        EXPECT_EQ(std::memcmp(desk.dst_copy(), wanted.data(), desk.bytes()), 0)
            << bytes << " bytes of PE " << root;
      }
    return Status::ok();
  });
}

// --- nothing, and too much -----------------------------------------------------------------------

TEST_P(GpuCollectives, NothingNeedsNoMemory) {
  at_desks(64, [](Runtime& rt, Desk& desk) -> Status {
    OnStream q = desk.queue();
    double* const none = nullptr;
    for (int round = 0; round < 3; ++round) {
      RETURN_IF_ERROR(q.alltoalls<double>(rt.world(), none, none, 2, 3, 0));
      RETURN_IF_ERROR(q.scan_inclusive<double>(rt.world(), none, none, 0));
      RETURN_IF_ERROR(q.scan_exclusive<double>(rt.world(), none, none, 0));
    }
    return Status::ok();
  });
}

TEST_P(GpuCollectives, WrongArgumentsAreRefusedBeforeAnythingIsQueued) {
  at_desks(4096, [](Runtime& rt, Desk& desk) -> Status {
    OnStream q = desk.queue();
    auto* const dst = reinterpret_cast<double*>(desk.there(desk.dst_copy()));
    auto* const src = reinterpret_cast<double*>(desk.there(desk.src_copy()));
    // The others of a collect may have nothing wrong, so it is queued and refused there, by all
    // (OnStreamTest.ACollectThatIsWrongForSomeFailsOnAll).
    EXPECT_CODE(q.alltoalls<double>(rt.world(), dst, src, 0, 1, 1), Code::kInvalidArgument);
    EXPECT_CODE(q.alltoalls<double>(rt.world(), dst, src, 1, -1, 1), Code::kInvalidArgument);
    EXPECT_FALSE(q.alltoalls<double>(rt.world(), dst, src, 2, 1, std::size_t{1} << 40).is_ok());
    EXPECT_FALSE(q.alltoalls<double>(rt.world(), dst, src, 2, 1, ~std::size_t{0}).is_ok());
    EXPECT_CODE(q.scan_inclusive<double>(rt.world(), dst, src, 1, ReduceOp::kXor),
                Code::kInvalidArgument);
    EXPECT_CODE(
        q.scan_elements(rt.world(), dst, src, 1, Element::kLongDouble, ReduceOp::kSum, true),
        Code::kUnsupported);
    auto* const odd = reinterpret_cast<double*>(reinterpret_cast<std::byte*>(dst) + 4);
    EXPECT_CODE(q.scan_exclusive<double>(rt.world(), odd, src, 1), Code::kInvalidArgument);
    EXPECT_CODE(q.collect<double>(Team{}, dst, src, 1), Code::kInvalidArgument);
    return Status::ok();
  });
}

// Each one's own block would fit, all together do not. The heap is all of one chunk.
TEST_P(GpuCollectives, CollectThatDoesNotFitFailsOnAllAlike) {
  PeGroup group = GetParam();
  group.options.gpu_heap_size = group.options.gpu_heap_chunk;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    if (rt.gpu() < 0) return Status::ok();  // collective_test.cpp
    ASSIGN_OR_RETURN(std::byte* const memory, rt.allocate_device<std::byte>(4096));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    std::byte* const dst = handle.heap + handle.heap_bytes - 4096;
    const std::vector<std::byte> before(4096, std::byte{17});
    RETURN_IF_ERROR(rt.context().put(dst, before.data(), before.size(), rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    const Status status = collect(rt.context(), rt.world(), dst, memory, 4096);
    if (rt.npes() == 1) return status;
    EXPECT_CODE(status, Code::kOutOfRange);
    EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr("collect"));
    EXPECT_CODE(rt.health(), Code::kOutOfRange);
    std::vector<std::byte> after(4096);
    RETURN_IF_ERROR(rt.context().get(after.data(), dst, after.size(), rt.pe()));
    EXPECT_EQ(after, before);
    return rt.barrier();
  }));
}

// --- several at a time ---------------------------------------------------------------------------

// Long enough for a call of another thread to be under way; if it is not, nothing is tested.
void let_it_begin() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

// PE 0 makes two calls at a time, and the others one after the other, the later one first.
TEST_P(GpuCollectives, ThreadsCallOnTwoTeamsInAnyOrder) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kCount = 20000;
    const auto npes = static_cast<std::size_t>(rt.npes());
    ASSIGN_OR_RETURN(const Team second, rt.split_strided(rt.world(), 0, 1, rt.npes()));
    ASSIGN_OR_RETURN(Context other, rt.create_context());
    ASSIGN_OR_RETURN(auto* const dst, rt.allocate_device<std::uint32_t>(2 * npes * kCount));
    ASSIGN_OR_RETURN(auto* const src, rt.allocate_device<std::uint32_t>(kCount));
    std::uint32_t* const second_dst = dst + npes * kCount;
    const std::vector<std::uint32_t> mine(kCount, static_cast<std::uint32_t>(rt.pe() + 1));
    RETURN_IF_ERROR(rt.context().put(src, mine.data(), kCount, rt.pe()));
    const auto call = [&](Context& context, const Team& team, std::uint32_t* to) {
      return fcollect(context, team, to, src, kCount);
    };
    Status first_call;
    if (rt.pe() == 0) {
      std::thread caller([&] { first_call = call(other, rt.world(), dst); });
      let_it_begin();
      Status second_call = call(rt.context(), second, second_dst);
      caller.join();
      RETURN_IF_ERROR(second_call);
    } else {
      RETURN_IF_ERROR(call(rt.context(), second, second_dst));
      first_call = call(rt.context(), rt.world(), dst);
    }
    RETURN_IF_ERROR(first_call);
    std::vector<std::uint32_t> got(2 * npes * kCount);
    RETURN_IF_ERROR(rt.context().get(got.data(), dst, got.size(), rt.pe()));
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != i / kCount % npes + 1) {
        ADD_FAILURE() << "element " << i << " is " << got[i];
        break;
      }
    return rt.barrier();
  }));
}

// The others wait, before their call, for puts that come behind mine.
TEST_P(GpuCollectives, PutsPassACallThatWaits) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Context other, rt.create_context());
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(3));
    const auto call = [&](Context& context) {
      return reduce(context, rt.world(), words + 2, words + 1, 1, ReduceOp::kSum);
    };
    if (rt.pe() != 0) {
      RETURN_IF_ERROR(wait_until(rt.context(), words, Cmp::kEq, std::uint64_t{1}));
      RETURN_IF_ERROR(call(rt.context()));
      return rt.barrier();
    }
    Status called, sent;
    std::thread caller([&] { called = call(other); });
    let_it_begin();
    for (int pe = 1; pe < rt.npes() && sent.is_ok(); ++pe)
      sent = rt.context().signal(set(words, 1), pe);
    caller.join();
    RETURN_IF_ERROR(called);
    RETURN_IF_ERROR(sent);
    return rt.barrier();
  }));
}

TEST(GpuCollective, OfHostThreadsEndsWithTheJob) {
  PeGroup group = groups({2}).front();
  group.pes = Pes::kProcesses;
  const auto ends = watch_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(2));
    RETURN_IF_ERROR(reduce(rt.context(), rt.world(), words, words + 1, 1, ReduceOp::kSum));
    if (rt.pe() == 1) {
      let_it_begin();
      kill(getpid(), SIGKILL);
    }
    const Status ended = reduce(rt.context(), rt.world(), words, words + 1, 1, ReduceOp::kSum);
    EXPECT_CODE(ended, Code::kPeerLost);
    EXPECT_CODE(rt.health(), Code::kPeerLost);
    return Status::ok();
  });
  if (is_pe_process()) return;
  EXPECT_FALSE(ends[0].failed) << ends[0].log;
  EXPECT_EQ(ends[0].signal, 0) << ends[0].log;
}

INSTANTIATE_TEST_SUITE_P(Pes, GpuCollectives, ::testing::ValuesIn(groups({1, 2, 3, 5})),
                         group_name);

}  // namespace
}  // namespace weft
