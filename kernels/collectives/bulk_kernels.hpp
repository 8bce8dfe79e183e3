// Collectives in bulk: pieces of some ten kilobytes, put by whole blocks with a signal behind each.
//
// A block has every grid_size-th piece. It sends a piece ahead of the one that it takes from its
// twins, so that the links are busy while it copies or folds, and hides the rest by the other
// blocks.
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

  // Where the i-th of my block's pieces of `step` bytes begins, and what a message of `all` bytes
  // has there.
  static WEFT_DEVICE std::size_t begin_of(std::uint64_t i, std::size_t step) {
    return (i * dev::grid_size() + dev::block_rank()) * step;
  }
  static WEFT_DEVICE std::size_t bytes_at(std::size_t begin, std::size_t step, std::size_t all) {
    return begin < all ? smaller(step, all - begin) : 0;
  }

  // Of my block's pieces of `piece` bytes from the first-th on, while has(i): send(round, begin),
  // and once the next has been sent take(round, begin), behind which has() may say more. False ends
  // it.
  template <class Has, class Send, class Take>
  WEFT_DEVICE bool one_ahead(BulkChannel& channel, std::uint64_t first, Has has, Send send,
                             Take take) const {
    std::uint64_t sent = first, round = 0;  // pieces; and that of the last
    for (std::uint64_t i = first; has(i); ++i) {
      for (; sent < i + 2 && has(sent); ++sent)
        send(round = channel.enter(), begin_of(sent, piece));
      const bool ok = take(round - (sent - 1 - i), begin_of(i, piece));
      channel.leave();
      if (!ok) return false;
    }
    return true;
  }
  // The same of all there are in m.bytes: send(round, begin, bytes) and take(round, begin, bytes).
  template <class Send, class Take>
  WEFT_DEVICE void pieces(BulkChannel& channel, Send send, Take take) const {
    const auto bytes = [&](std::size_t begin) { return bytes_at(begin, piece, m.bytes); };
    channel.close(
        channel.is_open() &&
        one_ahead(
            channel, 0, [&](std::uint64_t i) { return begin_of(i, piece) < m.bytes; },
            [&](std::uint64_t round, std::size_t begin) { send(round, begin, bytes(begin)); },
            [&](std::uint64_t round, std::size_t begin) {
              return take(round, begin, bytes(begin));
            }));
  }
  // To each of the others what is for him.
  WEFT_DEVICE void put_to_others(const BulkChannel& channel, std::uint64_t round, std::size_t begin,
                                 std::size_t bytes) const {
    channel.put_to_all(round, [&](int rank) -> BulkChannel::Bytes {
      return {in(rank) + begin, bytes};
    });
  }
};

// AllGather and AllToAll.
struct MoveBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, m.in_stride == 0 ? "AllGather" : "AllToAll");
    const auto send = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      put_to_others(channel, round, at, bytes);
      if (in(team.rank) != out(team.rank))
        dev::copy(dev::Block{}, out(team.rank) + at, in(team.rank) + at, bytes);
    };
    const auto take = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.before(i);
        if (!channel.wait(round, rank)) return false;
        dev::copy(dev::Block{}, out(rank) + at, channel.slot(round, rank), bytes);
      }
      return true;
    };
    pieces(channel, send, take);
  }
};

// The root puts, the others only signal, so that everybody hears from everybody.
struct BroadcastBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "Broadcast");
    const bool is_root = team.rank == root;
    const auto send = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      channel.put_to_all(round, [&](int) -> BulkChannel::Bytes {
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
struct ScatteredBroadcastBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "Broadcast");
    const std::size_t step = piece * static_cast<std::size_t>(team.size - 1);
    bool ok = channel.is_open();
    for (std::uint64_t i = 0; ok && begin_of(i, step) < m.bytes; ++i) {
      ok = rounds(channel, begin_of(i, step), bytes_at(begin_of(i, step), step, m.bytes));
      channel.leave();
    }
    channel.close(ok);
  }

 private:
  WEFT_DEVICE bool rounds(BulkChannel& channel, std::size_t at, std::size_t bytes) const {
    const auto others = static_cast<std::size_t>(team.size - 1);
    const std::size_t part = ((bytes + others - 1) / others + 15) / 16 * 16;
    // Of what `rank`, which is not the root, passes on.
    const auto begin = [&](int rank) { return smaller(part_of(rank, root) * part, bytes); };
    const auto bytes_of_part = [&](int rank) { return smaller(part, bytes - begin(rank)); };
    const bool is_root = team.rank == root;
    const std::uint64_t first = channel.enter();
    channel.put_to_all(first, [&](int rank) -> BulkChannel::Bytes {
      if (!is_root) return {m.out, 0};
      return {m.in + at + begin(rank), bytes_of_part(rank)};
    });
    if (is_root && m.in != m.out) dev::copy(dev::Block{}, m.out + at, m.in + at, bytes);
    if (!channel.wait_for_all(first)) return false;
    std::byte* const mine = m.out + at + (is_root ? 0 : begin(team.rank));
    if (!is_root)
      dev::copy(dev::Block{}, mine, channel.slot(first, root), bytes_of_part(team.rank));
    const std::uint64_t second = channel.enter();
    channel.put_to_all(second, [&](int rank) -> BulkChannel::Bytes {
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

template <class T>
struct ReduceScatterBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "ReduceScatter");
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

// In two rounds: a part of each piece to every member, who folds it and puts it to all. The parts
// of the next piece go before that, and what comes back of one is taken behind the fold of the
// next.
template <class T>
class AllReduceBulk : public BulkCall {
 public:
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "AllReduce");
    const std::size_t step = piece * static_cast<std::size_t>(team.size);
    channel.close(channel.is_open() && all_pieces(channel, step, [](std::size_t, std::size_t) {}));
  }

 protected:
  // done(begin, bytes) of each piece of `step` bytes that is whole here; false: a wait failed.
  template <class Done>
  WEFT_DEVICE bool all_pieces(BulkChannel& channel, std::size_t step, Done done) const {
    const auto end = [&](const Piece& p) {
      if (!take_sums(channel, p)) return false;
      done(p.begin, p.bytes);
      return true;
    };
    Piece now = piece_at(0, step), before{};
    if (now.bytes == 0) return true;
    send_parts(channel, now);
    for (std::uint64_t i = 1; now.bytes != 0; ++i) {
      Piece next = piece_at(i, step);
      if (next.bytes != 0) send_parts(channel, next);
      if (!fold_mine(channel, now)) return false;
      send_sum(channel, now);
      if (before.bytes != 0 && !end(before)) return false;
      before = now;
      now = next;
    }
    return end(before);
  }

 private:
  struct Piece {
    std::size_t begin, bytes, part;     // of each member a part
    std::uint64_t parts = 0, sums = 0;  // rounds
    WEFT_DEVICE std::size_t begin_of_part(int rank) const {
      return smaller(static_cast<std::size_t>(rank) * part, bytes);
    }
    WEFT_DEVICE std::size_t bytes_of_part(int rank) const {
      return begin_of_part(rank + 1) - begin_of_part(rank);
    }
  };
  WEFT_DEVICE Piece piece_at(std::uint64_t i, std::size_t step) const {
    const auto size = static_cast<std::size_t>(team.size);
    const std::size_t begin = begin_of(i, step), bytes = bytes_at(begin, step, m.bytes);
    return {begin, bytes, ((bytes + size - 1) / size + 15) / 16 * 16};
  }
  WEFT_DEVICE std::size_t mine(const Piece& p) const {
    return p.begin + p.begin_of_part(team.rank);
  }

  WEFT_DEVICE void send_parts(BulkChannel& channel, Piece& p) const {
    p.parts = channel.enter();
    channel.put_to_all(p.parts, [&](int rank) -> BulkChannel::Bytes {
      return {m.in + p.begin + p.begin_of_part(rank), p.bytes_of_part(rank)};
    });
  }
  WEFT_DEVICE bool fold_mine(const BulkChannel& channel, const Piece& p) const {
    if (!channel.wait_for_all(p.parts)) return false;
    const auto source = [&](int rank) -> const std::byte* {
      if (rank == team.size) return m.addend + mine(p);
      return rank == team.rank ? m.in + mine(p) : channel.slot(p.parts, rank);
    };
    const int sources = team.size + (m.addend != nullptr ? 1 : 0);
    fold_block<T>(op, m.out + mine(p), sources, source, p.bytes_of_part(team.rank));
    channel.leave();
    return true;
  }
  WEFT_DEVICE void send_sum(BulkChannel& channel, Piece& p) const {
    p.sums = channel.enter();
    channel.put_to_all(p.sums, [&](int) -> BulkChannel::Bytes {
      return {m.out + mine(p), p.bytes_of_part(team.rank)};
    });
  }
  WEFT_DEVICE bool take_sums(const BulkChannel& channel, const Piece& p) const {
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(p.sums, rank)) return false;
      dev::copy(dev::Block{}, m.out + p.begin + p.begin_of_part(rank), channel.slot(p.sums, rank),
                p.bytes_of_part(rank));
    }
    channel.leave();
    return true;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
