// Broadcast by Simple.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The root puts, the others only signal, so that everybody receives from everybody.
struct BroadcastSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "Broadcast");
    const bool is_root = team.rank == root;
    const auto send = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      channel.put_to_all(round, [&](int) -> SimpleChannel::Bytes {
        return {is_root ? m.in + at : m.out, is_root ? bytes : 0};
      });
      if (is_root && m.in != m.out) dev::copy(dev::Block{}, m.out + at, m.in + at, bytes);
    };
    const auto take = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      if (!channel.wait_for_all(round)) return false;
      if (!is_root) dev::copy(dev::Block{}, m.out + at, channel.slot(round, root), bytes);
      return true;
    };
    pieces(channel, send, take);
  }
};

// In two rounds: a part of each piece to each of the others, who puts it to all but the root. So
// the root sends each byte once, however many members there are.
struct ScatteredBroadcastSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "Broadcast");
    const std::size_t step = piece * static_cast<std::size_t>(team.size - 1);
    bool ok = channel.is_open();
    for (std::uint64_t i = 0; ok && begin_of(i, step) < m.bytes; ++i) {
      ok = rounds(channel, begin_of(i, step), bytes_at(begin_of(i, step), step, m.bytes));
      channel.leave();
    }
    channel.close(ok);
  }

 private:
  WEFT_DEVICE bool rounds(SimpleChannel& channel, std::size_t at, std::size_t bytes) const {
    const auto others = static_cast<std::size_t>(team.size - 1);
    const std::size_t part = ((bytes + others - 1) / others + 15) / 16 * 16;
    // Where the part begins that `rank`, which is not the root, passes on.
    const auto begin = [&](int rank) { return min(part_of(rank, root) * part, bytes); };
    const auto bytes_of_part = [&](int rank) { return min(part, bytes - begin(rank)); };
    const bool is_root = team.rank == root;
    const std::uint64_t first = channel.enter();
    channel.put_to_all(first, [&](int rank) -> SimpleChannel::Bytes {
      if (!is_root) return {m.out, 0};
      return {m.in + at + begin(rank), bytes_of_part(rank)};
    });
    if (is_root && m.in != m.out) dev::copy(dev::Block{}, m.out + at, m.in + at, bytes);
    if (!channel.wait_for_all(first)) return false;
    std::byte* const mine = m.out + at + (is_root ? 0 : begin(team.rank));
    if (!is_root)
      dev::copy(dev::Block{}, mine, channel.slot(first, root), bytes_of_part(team.rank));
    const std::uint64_t second = channel.enter();
    channel.put_to_all(second, [&](int rank) -> SimpleChannel::Bytes {
      return {mine, is_root || rank == root ? 0 : bytes_of_part(team.rank)};
    });
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(second, rank)) return false;
      if (!is_root && rank != root)
        dev::copy(dev::Block{}, m.out + at + begin(rank), channel.slot(second, rank),
                  bytes_of_part(rank));
    }
    return true;
  }
};

struct BroadcastBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple};
  static Status run(const BroadcastCall& call, Stream stream) {
    return start(call, BroadcastSimple{simple_call(call), call.root}, stream);
  }
};
struct ScatteredBroadcastBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kScatteredSimple, Protocol::kSimple,
                                           Parts::kOthers, Algorithm::kSimple, 3};
  static Status run(const BroadcastCall& call, Stream stream) {
    return start(call, ScatteredBroadcastSimple{simple_call(call), call.root}, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
