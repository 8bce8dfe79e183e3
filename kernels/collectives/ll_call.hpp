// Collectives by LL: the smallest messages, and the latency of one store to a peer.
//
// A block has a contiguous share of the units of every message, and goes through it by as many at a
// time as its channel holds. A thread reads a unit, sends it, waits for the others' and stores what
// comes of them: so out may be in, where the two are laid out alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/kernel_call.hpp"
#include "kernels/core/cluster.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/protocol/ll_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct LLCall : KernelCall {
  static constexpr bool kStartsEarly = true;

  WEFT_DEVICE std::uint64_t load(int rank, std::size_t unit) const {
    return dev::load_unit(in(rank), m.bytes, unit);
  }
  WEFT_DEVICE void store(std::size_t unit, std::uint64_t data) const {
    dev::store_unit(m.out, m.bytes, unit, data);
    if (m.copy != nullptr) m.copy[unit] = data;
  }
  // kUnits of everybody, as take_many() has them, folded to results. unit(i) is the i-th's in the
  // message, which may lie beyond its end. Data in memory are loaded before the wait.
  template <class T, int kUnits, class Unit>
  WEFT_DEVICE bool take_folded(const LLChannel& channel, ReduceOp op, std::size_t at, int count,
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
  WEFT_DEVICE void send(const LLChannel& channel, std::size_t at, std::size_t unit) const {
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
    const std::size_t most = space.ll_slot;
    const dev::Context ctx(handle);
    LLChannel channel(ctx, team, space, where, LLChannel::Later{});
    wait_in_stream();
    if (share.count == 0) return;
    begin();
    channel.begin();
    bool ok = channel.open();
    for (std::size_t done = 0; ok && done < share.count; done += most) {
      channel.enter();
      ok = channel.leave(body(channel, share.begin + done, min(most, share.count - done)));
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

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
