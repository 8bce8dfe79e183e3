// Collectives in bulk: pieces of some ten kilobytes, put by whole blocks with a signal behind each.
//
// A block has every grid_size-th piece, and waits in each round for the pieces of its twins; what
// hides that is the other blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/core/bulk_channel.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct BulkCall : KernelCall {
  std::size_t piece;

  // body(begin, bytes) for each of my block's pieces of `step` bytes; false ends it.
  template <class Body>
  WEFT_DEVICE void pieces(BulkChannel& channel, std::size_t step, Body body) const {
    bool ok = channel.is_open();
    for (std::size_t i = dev::block_rank(); ok && i * step < m.bytes; i += dev::grid_size()) {
      ok = body(i * step, smaller(step, m.bytes - i * step));
      channel.leave();
    }
    channel.close(ok);
  }
};

// AllGather and AllToAll.
struct MoveBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    pieces(channel, piece, [&](std::size_t at, std::size_t bytes) {
      channel.enter();
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.other(i);
        channel.put(rank, in(rank) + at, bytes);
      }
      if (in(team.rank) != out(team.rank))
        dev::copy(dev::Block{}, out(team.rank) + at, in(team.rank) + at, bytes);
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.before(i);
        if (!channel.wait(rank)) return false;
        dev::copy(dev::Block{}, out(rank) + at, channel.slot(rank), bytes);
      }
      return true;
    });
  }
};

// The root puts, the others only signal, so that everybody hears from everybody.
struct BroadcastBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    pieces(channel, piece, [&](std::size_t at, std::size_t bytes) {
      const bool is_root = team.rank == root;
      channel.enter();
      for (int i = 1; i < team.size; ++i)
        channel.put(channel.other(i), is_root ? m.in + at : m.out, is_root ? bytes : 0);
      if (is_root && m.in != m.out) dev::copy(dev::Block{}, m.out + at, m.in + at, bytes);
      if (!channel.wait_for_all()) return false;
      if (!is_root) dev::copy(dev::Block{}, m.out + at, channel.slot(root), bytes);
      return true;
    });
  }
};

// In two rounds: a part of each piece to each of the others, who puts it to all but the root. So
// the root sends each byte once, however many members there are.
struct ScatteredBroadcastBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    const auto others = static_cast<std::size_t>(team.size - 1);
    pieces(channel, piece * others, [&](std::size_t at, std::size_t bytes) {
      const std::size_t part = ((bytes + others - 1) / others + 15) / 16 * 16;
      // Of what `rank`, which is not the root, passes on.
      const auto begin = [&](int rank) {
        return smaller(static_cast<std::size_t>(rank < root ? rank : rank - 1) * part, bytes);
      };
      const auto bytes_of = [&](int rank) { return smaller(part, bytes - begin(rank)); };
      const bool is_root = team.rank == root;
      channel.enter();
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.other(i);
        channel.put(rank, is_root ? m.in + at + begin(rank) : m.out, is_root ? bytes_of(rank) : 0);
      }
      if (is_root && m.in != m.out) dev::copy(dev::Block{}, m.out + at, m.in + at, bytes);
      if (!channel.wait_for_all()) return false;
      std::byte* const mine = m.out + at + (is_root ? 0 : begin(team.rank));
      if (!is_root) dev::copy(dev::Block{}, mine, channel.slot(root), bytes_of(team.rank));
      channel.enter();
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.other(i);
        channel.put(rank, mine, is_root || rank == root ? 0 : bytes_of(team.rank));
      }
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.before(i);
        if (!channel.wait(rank)) return false;
        if (!is_root && rank != root)
          dev::copy(dev::Block{}, m.out + at + begin(rank), channel.slot(rank), bytes_of(rank));
      }
      return true;
    });
  }
};

template <class T>
struct ReduceScatterBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    pieces(channel, piece, [&](std::size_t at, std::size_t bytes) {
      channel.enter();
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.other(i);
        channel.put(rank, in(rank) + at, bytes);
      }
      if (!channel.wait_for_all()) return false;
      const auto source = [&](int rank) {
        return rank == team.rank ? in(rank) + at : channel.slot(rank);
      };
      fold_block<T>(op, m.out + at, team.size, source, bytes);
      return true;
    });
  }
};

// In two rounds: a part of each piece to every member, who folds it and puts it to all. Every
// second round has the same parity, so each of the two has staging of its own.
template <class T>
struct AllReduceBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  // The two rounds of a piece. Its threads have not met since the last store.
  WEFT_DEVICE bool rounds(BulkChannel& channel, std::size_t at, std::size_t bytes) const {
    const auto size = static_cast<std::size_t>(team.size);
    const std::size_t part = ((bytes + size - 1) / size + 15) / 16 * 16;
    const auto begin = [&](int rank) {
      return smaller(static_cast<std::size_t>(rank) * part, bytes);
    };
    const auto bytes_of_part = [&](int rank) { return begin(rank + 1) - begin(rank); };
    const std::size_t mine = at + begin(team.rank);
    channel.enter();
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      channel.put(rank, m.in + at + begin(rank), bytes_of_part(rank));
    }
    if (!channel.wait_for_all()) return false;
    const auto source = [&](int rank) -> const std::byte* {
      if (rank == team.size) return m.addend + mine;
      return rank == team.rank ? m.in + mine : channel.slot(rank);
    };
    const int sources = team.size + (m.addend != nullptr ? 1 : 0);
    fold_block<T>(op, m.out + mine, sources, source, bytes_of_part(team.rank));
    channel.enter();
    for (int i = 1; i < team.size; ++i)
      channel.put(channel.other(i), m.out + mine, bytes_of_part(team.rank));
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(rank)) return false;
      dev::copy(dev::Block{}, m.out + at + begin(rank), channel.slot(rank), bytes_of_part(rank));
    }
    return true;
  }
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    pieces(channel, piece * static_cast<std::size_t>(team.size),
           [&](std::size_t at, std::size_t bytes) { return rounds(channel, at, bytes); });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
