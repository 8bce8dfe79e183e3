// Collectives as words, two at a time, in one round or two: messages between the smallest, whose
// packets would be twice the bytes, and those in bulk, whose signals wait for what they tell of.
//
// A block has a contiguous share of every message. A thread sends a pair ahead of the one that it
// takes, so that links are busy while it folds; so out may be in, where the two are laid out alike.
//
// What is larger than the places goes in laps, in turn in their first and their second half. A
// half is free again once all threads of the twin have taken what lay there, and a signal says so:
// it has a lap's time to come.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/core/bulk_channel.hpp"
#include "kernels/core/cluster.hpp"
#include "kernels/core/outgoing.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The pairs of a message; beyond its end are zeros, which go nowhere. Here all are whole, each at a
// multiple of 16 bytes: a kernel of its own, since one that asks of each waits for each.
struct WholePairs {
  std::size_t bytes;
  template <int kOthers>
  static constexpr int kAhead = kOthers == 1 ? 1 : 0;  // more want too many registers
  static bool are_in(const Messages& m) {
    return is_aligned(m.in) && is_aligned(m.out) && (m.in_stride | m.bytes) % sizeof(Vector) == 0;
  }
  WEFT_DEVICE dev::WordPair load(const std::byte* message, std::size_t pair) const {
    if (pair >= bytes / sizeof(Vector)) return {0, 0};
    const Vector loaded = reinterpret_cast<const Vector*>(message)[pair];
    return {loaded.low, loaded.high};
  }
  WEFT_DEVICE void store(std::byte* message, std::size_t pair, dev::WordPair data) const {
    if (pair < bytes / sizeof(Vector))
      reinterpret_cast<Vector*>(message)[pair] = {data.first, data.second};
  }
};
// The same of any message.
struct AnyPairs {
  std::size_t bytes;
  template <int kOthers>
  static constexpr int kAhead = 0;
  WEFT_DEVICE dev::WordPair load(const std::byte* message, std::size_t pair) const {
    return {unit(message, 2 * pair), unit(message, 2 * pair + 1)};
  }
  WEFT_DEVICE void store(std::byte* message, std::size_t pair, dev::WordPair data) const {
    const std::size_t units = dev::packed_units(bytes);
    if (2 * pair < units) dev::store_unit(message, bytes, 2 * pair, data.first);
    if (2 * pair + 1 < units) dev::store_unit(message, bytes, 2 * pair + 1, data.second);
  }

 private:
  WEFT_DEVICE std::uint64_t unit(const std::byte* message, std::size_t index) const {
    return index < dev::packed_units(bytes) ? dev::load_unit(message, bytes, index) : 0;
  }
};

// Pairs of my block's, the first of which has number `place` in the channel.
struct Lap {
  std::size_t first, count, place;
};

// Of messages that are Pairs, through a WordChannel or one of any data; those of kOthers are waited
// for at once. kLaps: there are several.
template <class Words, class Pairs, int kOthers, bool kLaps>
struct WordCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  static constexpr bool kStartsEarly = true;
  std::size_t piece;  // bytes of a lap; without laps 0
  int root;           // of a broadcast

  WEFT_DEVICE Pairs pairs() const { return {m.bytes}; }
  // lap(channel, next, Lap) for each lap of so many pairs, which blocks share; false: gave up. Laps
  // are in the same rounds. `next` is Outgoing of get(rank, pair); where there are no laps it has
  // this thread's first.
  template <class Get, class OneLap>
  WEFT_DEVICE void run(const char* where, int rounds, std::size_t all, bool same, Get get,
                       OneLap lap) const {
    const Share share = share_of(2 * all);
    const std::size_t first = share.begin / 2, count = (share.count + 1) / 2;
    Outgoing<Pairs::template kAhead<kOthers>, Get> next(team, same, get);
    const dev::Context ctx(handle);
    Words channel(ctx, team, space, where);
    wait_in_stream();
    if (share.count == 0) return;
    if (!kLaps && dev::thread_rank() < count) next.load(first + dev::thread_rank());
    channel.begin();
    WEFT_KERNELS_PAUSE(kBeforeData);
    bool ok = channel.is_open();
    if (ok) {
      channel.enter();
      if constexpr (kLaps)
        ok =
            laps(ctx, where, first, count, [&](const Lap& one) { return lap(channel, next, one); });
      else
        ok = lap(channel, next, Lap{first, count, 0});
      if (rounds == 2) channel.enter();
    }
    channel.close(ok);
  }
  template <class OneLap>
  WEFT_DEVICE bool laps(const dev::Context& ctx, const char* where, std::size_t first,
                        std::size_t count, OneLap lap) const {
    BulkChannel taken(ctx, team, space, where);
    const std::size_t most = piece / sizeof(Vector);
    std::uint64_t before = 0, now = 0;  // the rounds that say that the last two have been taken
    bool ok = taken.is_open();
    for (std::size_t done = 0; ok && done < count; done += most) {
      ok = before == 0 || taken.wait_for_all(before);
      const std::size_t place = done / most % 2 * most;
      ok = ok && lap(Lap{first + done, smaller(most, count - done), place});
      ok = dev::Block{}.all(ok);
      before = now;
      now = taken.enter();
      if (ok) taken.signal_to_mapped(now);
    }
    // Where the next call begins nobody looks any more.
    ok = ok && taken.wait_for_all(now);
    taken.close(ok);
    return ok;
  }
  // Pair p of the lap, if it is there, to the others; only the first may have been asked for.
  template <class Next>
  WEFT_DEVICE static void send(const Words& channel, Next& next, const Lap& of, std::size_t p,
                               bool is_first) {
    if (p >= of.count) return;
    if (kLaps || !is_first) next.load(of.first + p);
    next.send([&](int rank, dev::WordPair data) {
      channel.send(rank, of.place + p, Words::carried(data));
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
