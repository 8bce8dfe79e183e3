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
  const std::size_t each = ((units + blocks - 1) / blocks + kLine - 1) / kLine * kLine;
  const std::size_t begin = each * dev::block_rank();
  if (begin >= units) return {0, 0};
  return {begin, units - begin < each ? units - begin : each};
}

WEFT_DEVICE std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// What all kernels are made of, those in bulk too.
struct KernelCall {
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
};

struct PacketCall : KernelCall {
  WEFT_DEVICE std::uint64_t load(int rank, std::size_t unit) const {
    return dev::load_unit(in(rank), m.bytes, unit);
  }
  // Unit `unit` of everybody, which has number `at` in the channel, folded to *result. False: gave
  // up. What memory has is loaded before the wait.
  template <class T>
  WEFT_DEVICE bool take_folded(const PacketChannel& channel, ReduceOp op, std::size_t at,
                               std::size_t unit, std::uint64_t own, std::uint64_t* result) const {
    const bool adds = m.addend != nullptr && unit < dev::packed_units(m.bytes);
    const std::uint64_t last = adds ? dev::load_unit(m.addend, m.bytes, unit) : 0;
    FoldOfUnit<T> fold;
    const auto use = [&](int rank, std::uint64_t data) { fold.add(op, rank == 0, data); };
    if (!channel.take(at, own, use)) return false;
    if (adds) fold.add(op, false, last);
    *result = fold.result();
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
  // body(first unit, units) for each round of my block's share; false ends it.
  template <class Body>
  WEFT_DEVICE void rounds(PacketChannel& channel, std::size_t units, Body body) const {
    const Share share = share_of(units);
    if (share.count == 0) return;
    bool ok = channel.open();
    for (std::size_t done = 0; ok && done < share.count; done += space.packet_slot) {
      channel.enter();
      ok = channel.leave(body(share.begin + done, smaller(space.packet_slot, share.count - done)));
    }
    channel.close(ok);
  }
};

// AllGather (in_stride 0) and AllToAll.
struct MovePackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    PacketChannel channel(ctx, team, space, m.in_stride == 0 ? "AllGather" : "AllToAll");
    rounds(channel, dev::packed_units(m.bytes), [&](std::size_t first, std::size_t count) {
      WEFT_KERNELS_PAUSE(kBeforeData);
      for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size())
        send(channel, u, first + u);
      for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size()) {
        const auto use = [&](int rank, std::uint64_t data) {
          dev::store_unit(out(rank), m.bytes, first + u, data);
        };
        if (!channel.take(u, load(team.rank, first + u), use)) return false;
      }
      return true;
    });
  }
};

// Only the root has something to send. The others send a packet that is empty, so that everybody
// hears from everybody.
struct BroadcastPackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    PacketChannel channel(ctx, team, space, "Broadcast");
    rounds(channel, dev::packed_units(m.bytes), [&](std::size_t first, std::size_t count) {
      WEFT_KERNELS_PAUSE(kBeforeData);
      const bool is_root = team.rank == root;
      for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size())
        if (is_root || u == 0) channel.send_to_all(u, is_root ? load(0, first + u) : 0);
      for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size()) {
        std::uint64_t data = is_root ? load(0, first + u) : 0;
        if (u == 0) {
          if (!channel.take(u, data, [&](int rank, std::uint64_t got) {
                if (rank == root) data = got;
              }))
            return false;
        } else if (!is_root && !channel.take_from(root, u, &data)) {
          return false;
        }
        dev::store_unit(m.out, m.bytes, first + u, data);
      }
      return true;
    });
  }
};

// AllReduce in one shot (in_stride 0): everybody gets all and folds it; and ReduceScatter.
template <class T>
struct FoldPackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;

  // Units of a message that have places in the channel.
  WEFT_DEVICE std::size_t units() const { return dev::packed_units(m.bytes); }
  // A round, of `count` of them.
  WEFT_DEVICE bool round(PacketChannel& channel, std::size_t first, std::size_t count) const {
    WEFT_KERNELS_PAUSE(kBeforeData);
    for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size())
      send(channel, u, first + u);
    for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size()) {
      std::uint64_t sum;
      if (!take_folded<T>(channel, op, u, first + u, load(team.rank, first + u), &sum))
        return false;
      dev::store_unit(m.out, m.bytes, first + u, sum);
    }
    return true;
  }
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    PacketChannel channel(ctx, team, space, m.in_stride == 0 ? "AllReduce" : "ReduceScatter");
    rounds(channel, units(),
           [&](std::size_t first, std::size_t count) { return round(channel, first, count); });
  }
};

// AllReduce in two shots, a round each: rank d folds the d-th part of the units, and sends it to
// all. Parts are of the same number of units, so that all hear from all; what is beyond the end is
// sent as zeros. Unit u of the second round is sent once unit u of the first has come from
// everybody: whoever sends has left the round before both.
template <class T>
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
    const std::size_t all = dev::packed_units(m.bytes), part = units();
    const auto index = [&](int rank, std::size_t u) {
      return static_cast<std::size_t>(rank) * part + u;
    };
    const auto load_part = [&](int rank, std::size_t u) {
      return index(rank, u) < all ? load(0, index(rank, u)) : 0;
    };
    const auto store_part = [&](int rank, std::size_t u, std::uint64_t data) {
      if (index(rank, u) < all) dev::store_unit(m.out, m.bytes, index(rank, u), data);
    };
    WEFT_KERNELS_PAUSE(kBeforeData);
    for (std::size_t u = dev::thread_rank(); u < count; u += dev::block_size())
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.other(i);
        channel.send(rank, u, load_part(rank, first + u));
      }
    bool ok = true;
    for (std::size_t u = dev::thread_rank(); ok && u < count; u += dev::block_size()) {
      std::uint64_t sum;
      ok = take_folded<T>(channel, op, u, index(team.rank, first + u),
                          load_part(team.rank, first + u), &sum);
      if (!ok) break;
      store_part(team.rank, first + u, sum);
      channel.send_to_all(u, sum, 1);
    }
    channel.enter();
    for (std::size_t u = dev::thread_rank(); ok && u < count; u += dev::block_size())
      ok = channel.take(u, 0, [&](int rank, std::uint64_t data) {
        if (rank != team.rank) store_part(rank, first + u, data);
      });
    return ok;
  }
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    PacketChannel channel(ctx, team, space, "AllReduce");
    rounds(channel, units(),
           [&](std::size_t first, std::size_t count) { return round(channel, first, count); });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
