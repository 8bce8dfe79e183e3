// A collective whose sizes only kernels know, and that are another on each member: an AllGather of
// as many elements as a word in each member's memory says. All that it takes is here: the call, one
// algorithm, its registry and the operator's own part.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/collective_impl.hpp"
#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/core/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft::kernels {

struct AllGatherVCall : CollectiveCall {
  const std::uint64_t* count = nullptr;  // elements of mine, read by the kernel
  std::uint64_t* counts = nullptr;       // written: of each rank
};

namespace WEFT_TARGET {
namespace {

struct AllGatherVSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  const std::uint64_t* count;
  std::uint64_t* counts;
  std::size_t element;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "AllGatherV");
    channel.close(channel.is_open() && exchange(channel));
  }

 private:
  WEFT_DEVICE bool exchange(SimpleChannel& channel) const {
    const std::uint64_t first = channel.enter();
    channel.put_headers(first, [&](int) { return SimpleHeader{*count, *count * element}; });
    channel.put_to_all(first, [&](int) { return SimpleChannel::Bytes{m.in, 0}; });
    if (!channel.wait_for_all(first)) return false;
    std::vector<std::size_t> sent;  // by each rank, in bytes
    std::size_t most = 0;
    for (int rank = 0; rank < team.size; ++rank) {
      const std::uint64_t there = rank == team.rank ? *count : channel.header(first, rank).count;
      if (dev::block_rank() == 0 && dev::thread_rank() == 0) counts[rank] = there;
      sent.push_back(there * element);
      most = sent.back() > most ? sent.back() : most;
    }
    channel.leave();
    for (std::uint64_t i = 0; begin_of(i, piece) < most; ++i)
      if (!round(channel, begin_of(i, piece), sent)) return false;
    return true;
  }
  WEFT_DEVICE bool round(SimpleChannel& channel, std::size_t at,
                         const std::vector<std::size_t>& sent) const {
    const std::uint64_t number = channel.enter();
    const auto bytes = [&](int rank) {
      return bytes_at(at, piece, sent[static_cast<std::size_t>(rank)]);
    };
    const std::size_t mine = bytes(team.rank);
    channel.put_to_all(number, [&](int) { return SimpleChannel::Bytes{m.in + at, mine}; });
    if (mine != 0) dev::copy(dev::Block{}, out(team.rank) + at, m.in + at, mine);
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(number, rank)) return false;
      if (bytes(rank) != 0)
        dev::copy(dev::Block{}, out(rank) + at, channel.slot(number, rank), bytes(rank));
    }
    channel.leave();
    return true;
  }
};

struct AllGatherVBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple};
  static Status run(const AllGatherVCall& call, Stream stream) {
    return start(
        call,
        AllGatherVSimple{simple_call(call), call.count, call.counts, kernels::bytes_of(call.dtype)},
        stream);
  }
};
using AllGatherVAlgorithms = AlgorithmList<AllGatherVBySimple>;

// Sets a count as a router's kernel would.
struct SetCount {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  std::uint64_t* word;
  std::uint64_t count;
  WEFT_DEVICE void operator()() const { *word = count; }
};

}  // namespace
}  // namespace WEFT_TARGET

namespace {

class AllGatherVImpl : public CollectiveImpl {
 public:
  AllGatherVImpl(Runtime& runtime, const CollectiveProblem& problem,
                 const CollectiveOptions& options)
      : CollectiveImpl(runtime, Collective::kAllGather, problem, options) {}

  Status run(Stream stream, void* out, const void* in, const std::uint64_t* count,
             std::uint64_t* counts) const {
    RETURN_IF_ERROR(check_count(problem_.max_count));
    AllGatherVCall made{call(), count, counts};
    ASSIGN_OR_RETURN(made.plan, plan(problem_.max_count));
    made.messages = messages(out, in, problem_.max_count, false, true);
    return cpu::AllGatherVAlgorithms::run(made, stream);
  }

 private:
  bool has_device_sizes() const override { return true; }
};

constexpr std::size_t kMost = 3000;
constexpr int kPes = 4;

std::uint64_t count_of(int rank, int call) {
  return static_cast<std::uint64_t>((rank * 977 + call * 1234) % (static_cast<int>(kMost) + 1));
}
float element_of(int rank, int call, std::size_t i) {
  return static_cast<float>(rank * 100000 + call * 10000) + static_cast<float>(i);
}

Status play(Runtime& rt, const AllGatherVImpl& gather, int call) {
  std::uint64_t count = ~std::uint64_t{0};
  std::vector<std::uint64_t> counts(kPes, 77);
  std::vector<float> in(kMost), out(kPes * kMost, -1);
  for (std::size_t i = 0; i < kMost; ++i) in[i] = element_of(rt.pe(), call, i);
  RETURN_IF_ERROR(dev::launch({1, 1}, cpu::SetCount{&count, count_of(rt.pe(), call)}, nullptr));
  RETURN_IF_ERROR(gather.run(nullptr, out.data(), in.data(), &count, counts.data()));
  RETURN_IF_ERROR(dev::synchronize());
  for (int rank = 0; rank < kPes; ++rank) {
    EXPECT_EQ(counts[static_cast<std::size_t>(rank)], count_of(rank, call));
    for (std::size_t i = 0; i < kMost; ++i) {
      const float expected = i < count_of(rank, call) ? element_of(rank, call, i) : -1;
      EXPECT_EQ(out[static_cast<std::size_t>(rank) * kMost + i], expected)
          << "element " << i << " of rank " << rank << ", call " << call;
    }
  }
  return Status::ok();
}

TEST(DeviceSizes, MembersGatherAsManyAsTheWordsInTheirMemorySay) {
  EXPECT_OK(run_local(kPes, [](Runtime& rt) -> Status {
    CollectiveOptions options;
    options.algorithm = Algorithm::kSimple;
    options.blocks = 2;
    options.threads = 2;
    AllGatherVImpl gather(rt, {kMost, DType::kFloat32, ReduceOp::kSum}, options);
    RETURN_IF_ERROR(gather.create(rt.world()));
    for (int call = 0; call < 5; ++call) RETURN_IF_ERROR(play(rt, gather, call));
    return rt.barrier();
  }));
}

}  // namespace
}  // namespace weft::kernels
