// Broadcast by LL. The data that a thread sends first are under way from memory while
// the channel opens: in so short a call each latency shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/start_ll.hpp"
#include "kernels/collectives/units.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/outgoing.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Only the root has something to send. The others send a packet that is empty, so that everybody
// receives from everybody.
template <class Units, int kOthers>
struct BroadcastLL : LLCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const Share share = share_of(dev::packed_units(m.bytes));
    const std::size_t mine = dev::thread_rank(), step = dev::block_size();
    const bool is_root = team.rank == root;
    const auto get = [&](std::size_t unit) -> std::uint64_t {
      return is_root && unit < share.begin + share.count ? Units::load(m.in, m.bytes, unit) : 0;
    };
    std::uint64_t next = 0;
    const auto load_first = [&] { next = get(share.begin + mine); };
    const auto round = [&](LLChannel& channel, std::size_t first, std::size_t count) {
      pause(Point::kBeforeData);
      for (std::size_t u = mine; u < count; u += step) {
        if (is_root || u == 0) channel.send_to_all(u, next);
        next = get(first + (u + step < count ? u + step : count + mine));
      }
      for (std::size_t u = mine; u < count; u += step) {
        std::uint64_t data = get(first + u);
        if (u == 0) {
          if (!channel.take<kOthers>(u, [&](int rank, std::uint64_t got) {
                if (rank == root) data = got;
              }))
            return false;
        } else if (!is_root && !channel.take_from(root, u, &data)) {
          return false;
        }
        Units::store(m.out, m.bytes, first + u, data);
      }
      return true;
    };
    rounds("Broadcast", share, load_first, round);
  }
};

struct BroadcastByLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLL, Protocol::kLL};
  static Status run(const BroadcastCall& call, Stream stream) {
    return start_ll<BroadcastLL>(call, stream, call.root);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
