// AllGather and AllToAll by LL. The data that a thread sends first are under way from memory while
// the channel opens: in so short a call each latency shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/start_ll.hpp"
#include "kernels/collectives/units.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/outgoing.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllGather (in_stride 0) and AllToAll. Units of kOthers are under way at once, both ways.
template <class Units, int kOthers>
struct MoveLL : LLCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const Share share = share_of(dev::packed_units(m.bytes));
    const std::size_t mine = dev::thread_rank(), step = dev::block_size();
    const std::size_t end = share.begin + share.count;
    const auto get = [&](int rank, std::size_t unit) {
      return Units::load(in(rank), m.bytes, unit);
    };
    Outgoing<kOthers, decltype(get)> next(team, m.in_stride == 0, get);
    const auto load_first = [&] {
      if (mine < share.count) next.load(share.begin + mine);
    };
    const auto round = [&](LLChannel& channel, std::size_t first, std::size_t count) {
      pause(Point::kBeforeData);
      for (std::size_t u = mine; u < count; u += step) {
        next.send([&](int rank, std::uint64_t data) { channel.send(rank, u, data); });
        const std::size_t then = first + (u + step < count ? u + step : count + mine);
        if (then < end) next.load(then);
      }
      for (std::size_t u = mine; u < count; u += step) {
        const auto use = [&](int rank, std::uint64_t data) {
          Units::store(out(rank), m.bytes, first + u, data);
        };
        use(team.rank, get(team.rank, first + u));
        if (!channel.take<kOthers>(u, use)) return false;
      }
      return true;
    };
    rounds(m.in_stride == 0 ? "AllGather" : "AllToAll", share, load_first, round);
  }
};

struct MoveByLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLL, Protocol::kLL};
  static Status run(const CollectiveCall& call, Stream stream) {
    return start_ll<MoveLL>(call, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
