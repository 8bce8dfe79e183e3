// Collectives in packets: the smallest messages, and the latency of one store to a peer.
//
// A block has a contiguous share of the units of every message, and goes through it by as many at a
// time as its channel holds. A thread reads a unit, sends it, waits for the others' and stores what
// comes of them: so out may be in, where the two are laid out alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/core/cluster.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/core/packet_channel.hpp"
#include "kernels/core/pause.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Units of my block.
struct Share {
  std::size_t begin, count;
};
WEFT_DEVICE Share share_of(std::size_t units) {
  constexpr std::size_t kLine = 16;  // units
  const std::size_t blocks = dev::grid_size();
  if (blocks == 1) return {0, units};
  const std::size_t each = ((units + blocks - 1) / blocks + kLine - 1) / kLine * kLine;
  const std::size_t begin = each * dev::block_rank();
  if (begin >= units) return {0, 0};
  return {begin, units - begin < each ? units - begin : each};
}

WEFT_DEVICE std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// The same of a message of so many bytes, in bytes.
struct Span {
  std::size_t begin, bytes;
};
WEFT_DEVICE Span span_of(std::size_t bytes) {
  const Share share = share_of(dev::packed_units(bytes));
  const std::size_t begin = share.begin * dev::kPacketBytes;
  return {begin, share.count == 0 ? 0 : smaller(share.count * dev::kPacketBytes, bytes - begin)};
}

// A block that has more for each of the others sends so much to each in turn, and copies as much of
// what it keeps: so links have something to do meanwhile. On hosts little, so that small tests have
// several turns.
inline constexpr std::size_t kTurnBytes = (WEFT_TARGET_CPU ? 1 : 64) << 10;

// What all kernels are made of, those in bulk too.
struct KernelCall {
  // Whether it starts while the kernel before is at work, and so calls wait_in_stream().
  static constexpr bool kStartsEarly = false;

  DeviceContext handle;
  Team team;
  Workspace space;
  Messages m;

  WEFT_DEVICE const std::byte* in(int rank) const {
    return m.in + static_cast<std::size_t>(rank) * m.in_stride;
  }
  WEFT_DEVICE std::byte* out(int rank) const {
    return m.out + static_cast<std::size_t>(rank) * m.out_stride;
  }
  // Of a broadcast each member but the root passes a part on: how many parts there are, one at
  // least, and which is that rank's.
  WEFT_DEVICE std::size_t parts() const {
    return static_cast<std::size_t>(team.size > 1 ? team.size - 1 : 1);
  }
  static WEFT_DEVICE std::size_t part_of(int rank, int root) {
    return static_cast<std::size_t>(rank < root ? rank : rank - 1);
  }
};

struct PacketCall : KernelCall {
  static constexpr bool kStartsEarly = true;

  WEFT_DEVICE std::uint64_t load(int rank, std::size_t unit) const {
    return dev::load_unit(in(rank), m.bytes, unit);
  }
  WEFT_DEVICE void store(std::size_t unit, std::uint64_t data) const {
    dev::store_unit(m.out, m.bytes, unit, data);
    if (m.copy != nullptr) m.copy[unit] = data;
  }
  // kUnits of everybody, as take_many() has them, folded to results. unit(i) is the i-th's in the
  // message, which may lie beyond its end. What memory has is loaded before the wait.
  template <class T, int kUnits, class Unit>
  WEFT_DEVICE bool take_folded(const PacketChannel& channel, ReduceOp op, std::size_t at, int count,
                               Unit unit, std::uint64_t (&results)[kUnits]) const {
    const std::size_t units = dev::packed_units(m.bytes);
    std::uint64_t own[kUnits] = {}, last[kUnits] = {};
    for (int i = 0; i < kUnits; ++i) {
      if (i >= count || unit(i) >= units) continue;
      own[i] = load(team.rank, unit(i));
      if (m.addend != nullptr) last[i] = dev::load_unit(m.addend, m.bytes, unit(i));
    }
    FoldOfUnit<T> folds[kUnits];
    const auto use = [&](int i, int rank, std::uint64_t data) {
      if (rank == team.rank + 1) folds[i].add(op, team.rank == 0, own[i]);
      folds[i].add(op, rank == 0, data);
    };
    constexpr int kOthers = kUnits == 1 ? 7 : 2;  // more want too many registers
    if (!channel.take_many<kOthers, kUnits>(at, dev::block_size(), count, use)) return false;
    if (team.rank == team.size - 1)
      for (int i = 0; i < kUnits; ++i) folds[i].add(op, team.rank == 0, own[i]);
    for (int i = 0; i < kUnits; ++i) {
      if (m.addend != nullptr) folds[i].add(op, false, last[i]);
      results[i] = folds[i].result();
    }
    return true;
  }
  // Unit `unit`, which has number `at` in the channel, of what each of the others is to get.
  WEFT_DEVICE void send(const PacketChannel& channel, std::size_t at, std::size_t unit) const {
    if (m.in_stride == 0) return channel.send_to_all(at, load(0, unit));
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      channel.send(rank, at, load(rank, unit));
    }
  }
  // body(first unit, units) for each round of my block's share; false ends it. begin() before the
  // first, while the channel opens.
  template <class Begin, class Body>
  WEFT_DEVICE void rounds(const char* where, const Share& share, Begin begin, Body body) const {
    const std::size_t most = space.packet_slot;
    const dev::Context ctx(handle);
    PacketChannel channel(ctx, team, space, where, PacketChannel::Later{});
    wait_in_stream();
    if (share.count == 0) return;
    begin();
    channel.begin();
    bool ok = channel.open();
    for (std::size_t done = 0; ok && done < share.count; done += most) {
      channel.enter();
      ok = channel.leave(body(channel, share.begin + done, smaller(most, share.count - done)));
    }
    channel.close(ok);
  }
};

// So many units from u on are a thread's, of `count` of the block's.
template <int kUnits>
WEFT_DEVICE int units_from(std::size_t u, std::size_t count) {
  int there = 0;
  for (int i = 0; i < kUnits; ++i)
    there += u + static_cast<unsigned>(i) * dev::block_size() < count;
  return there;
}

// AllReduce in one shot (in_stride 0): everybody gets all and folds it; and ReduceScatter. A thread
// has kUnits units under way at a time.
template <class T, int kUnits = 1>
struct FoldPackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;

  // Units of a message that have places in the channel.
  WEFT_DEVICE std::size_t units() const { return dev::packed_units(m.bytes); }
  // A round, of `count` of them.
  WEFT_DEVICE bool round(PacketChannel& channel, std::size_t first, std::size_t count) const {
    const std::size_t step = dev::block_size();
    WEFT_KERNELS_PAUSE(kBeforeData);
    for (std::size_t u = dev::thread_rank(); u < count; u += kUnits * step)
      send_all(channel, u, first + u, units_from<kUnits>(u, count));
    for (std::size_t u = dev::thread_rank(); u < count; u += kUnits * step) {
      const int there = units_from<kUnits>(u, count);
      const auto unit = [&](int i) { return first + u + static_cast<unsigned>(i) * step; };
      std::uint64_t sums[kUnits];
      if (!take_folded<T, kUnits>(channel, op, u, there, unit, sums)) return false;
      for (int i = 0; i < kUnits; ++i)
        if (i < there) store(unit(i), sums[i]);
    }
    return true;
  }
  WEFT_DEVICE void operator()() const {
    rounds(
        m.in_stride == 0 ? "AllReduce" : "ReduceScatter", share_of(units()), [] {},
        [&](PacketChannel& channel, std::size_t first, std::size_t count) {
          return round(channel, first, count);
        });
  }

 private:
  WEFT_DEVICE void send_all(const PacketChannel& channel, std::size_t at, std::size_t unit,
                            int there) const {
    if (m.in_stride != 0) {
      for (int i = 0; i < there; ++i)
        send(channel, at + static_cast<unsigned>(i) * dev::block_size(),
             unit + static_cast<unsigned>(i) * dev::block_size());
      return;
    }
    std::uint64_t data[kUnits];
    for (int i = 0; i < kUnits; ++i)
      if (i < there) data[i] = load(0, unit + static_cast<unsigned>(i) * dev::block_size());
    for (int i = 0; i < kUnits; ++i)
      if (i < there)
        channel.send_to_all(at + static_cast<unsigned>(i) * dev::block_size(), data[i]);
  }
};

// AllReduce in two shots, a round each: rank d folds the d-th part of the units, and sends it to
// all. Parts are of the same number of units, so that all hear from all; what is beyond the end is
// sent as zeros. Unit u of the second round is sent once unit u of the first has come from
// everybody: whoever sends has left the round before both.
template <class T, int kUnits = 1>
struct TwoShotPackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;

  // Units of a part.
  WEFT_DEVICE std::size_t units() const {
    const auto size = static_cast<std::size_t>(team.size);
    return (dev::packed_units(m.bytes) + size - 1) / size;
  }
  // The two rounds of `count` units of every part; the caller has entered the first.
  WEFT_DEVICE bool round(PacketChannel& channel, std::size_t first, std::size_t count) const {
    WEFT_KERNELS_PAUSE(kBeforeData);
    send_parts(channel, first, count);
    const bool folded = fold_mine(channel, first, count);
    channel.enter();
    return folded && take_parts(channel, first, count);
  }
  WEFT_DEVICE void operator()() const {
    rounds(
        "AllReduce", share_of(units()), [] {},
        [&](PacketChannel& channel, std::size_t first, std::size_t count) {
          return round(channel, first, count);
        });
  }

 private:
  WEFT_DEVICE void store_if_there(std::size_t unit, std::uint64_t data) const {
    if (unit < dev::packed_units(m.bytes)) store(unit, data);
  }
  WEFT_DEVICE void send_parts(const PacketChannel& channel, std::size_t first,
                              std::size_t count) const {
    const std::size_t all = dev::packed_units(m.bytes), part = units(), step = dev::block_size();
    for (std::size_t u = dev::thread_rank(); u < count; u += kUnits * step)
      for (int k = 1; k < team.size; ++k) {
        const int rank = channel.other(k), there = units_from<kUnits>(u, count);
        std::uint64_t data[kUnits] = {};
        for (int i = 0; i < kUnits; ++i) {
          const std::size_t unit =
              static_cast<unsigned>(rank) * part + first + u + static_cast<unsigned>(i) * step;
          if (i < there && unit < all) data[i] = load(0, unit);
        }
        for (int i = 0; i < kUnits; ++i)
          if (i < there) channel.send(rank, u + static_cast<unsigned>(i) * step, data[i]);
      }
  }
  WEFT_DEVICE bool fold_mine(const PacketChannel& channel, std::size_t first,
                             std::size_t count) const {
    const std::size_t step = dev::block_size();
    const std::size_t begin = static_cast<unsigned>(team.rank) * units() + first;  // of mine
    for (std::size_t u = dev::thread_rank(); u < count; u += kUnits * step) {
      const int there = units_from<kUnits>(u, count);
      const auto at = [&](int i) { return u + static_cast<unsigned>(i) * step; };
      const auto unit = [&](int i) { return begin + at(i); };
      std::uint64_t sums[kUnits];
      if (!take_folded<T, kUnits>(channel, op, u, there, unit, sums)) return false;
      for (int i = 0; i < kUnits; ++i) {
        if (i >= there) continue;
        store_if_there(unit(i), sums[i]);
        channel.send_to_all(at(i), sums[i], 1);
      }
    }
    return true;
  }
  WEFT_DEVICE bool take_parts(const PacketChannel& channel, std::size_t first,
                              std::size_t count) const {
    constexpr int kOthers = kUnits == 1 ? 7 : 2;
    const std::size_t part = units(), step = dev::block_size();
    for (std::size_t u = dev::thread_rank(); u < count; u += kUnits * step) {
      const auto use = [&](int i, int rank, std::uint64_t data) {
        store_if_there(
            static_cast<unsigned>(rank) * part + first + u + static_cast<unsigned>(i) * step, data);
      };
      if (!channel.take_many<kOthers, kUnits>(u, step, units_from<kUnits>(u, count), use))
        return false;
    }
    return true;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
