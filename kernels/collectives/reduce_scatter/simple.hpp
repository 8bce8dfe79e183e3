// ReduceScatter by Simple.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

template <class T>
struct ReduceScatterSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "ReduceScatter");
    const auto send = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      put_to_others(channel, round, at, bytes);
    };
    const auto take = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      if (!channel.wait_for_all(round)) return false;
      const auto source = [&](int rank) {
        return rank == team.rank ? in(rank) + at : channel.slot(round, rank);
      };
      fold_block<T>(op, m.out + at, team.size, source, bytes);
      return true;
    };
    pieces(channel, send, take);
  }
};

struct ReduceScatterBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple};
  static Status run(const ReduceCall& call, Stream stream) {
    return with_type(call.dtype, [&](auto zero) {
      return start(call, ReduceScatterSimple<decltype(zero)>{simple_call(call), call.op}, stream);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
