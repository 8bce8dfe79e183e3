// Sums as words, two at a time, in one round or two: messages between the smallest, whose packets
// would be twice the bytes, and those in bulk, whose signals wait for what they tell of.
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
#include "kernels/core/fold.hpp"
#include "kernels/core/outgoing.hpp"
#include "kernels/core/word_channel.hpp"

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

// Of messages that are Pairs; those of kOthers are waited for at once. kLaps: there are several.
template <class T, class Pairs, int kOthers, bool kLaps>
struct WordCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  std::size_t piece;  // bytes of a lap; without laps 0

  WEFT_DEVICE Pairs pairs() const { return {m.bytes}; }
  // lap(channel, next, Lap) for each lap of so many pairs, which blocks share; false: gave up. Laps
  // are in the same rounds. `next` is Outgoing of get(rank, pair); where there are no laps it has
  // this thread's first.
  template <class Get, class OneLap>
  WEFT_DEVICE void run(const char* where, int rounds, std::size_t all, bool same, Get get,
                       OneLap lap) const {
    const Share share = share_of(2 * all);
    if (share.count == 0) return;
    const std::size_t first = share.begin / 2, count = (share.count + 1) / 2;
    Outgoing<Pairs::template kAhead<kOthers>, Get> next(team, same, get);
    if (!kLaps && dev::thread_rank() < count) next.load(first + dev::thread_rank());
    const dev::Context ctx(handle);
    WordChannel channel(ctx, team, space, where);
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
  WEFT_DEVICE static void send(const WordChannel& channel, Next& next, const Lap& of, std::size_t p,
                               bool is_first) {
    if (p >= of.count) return;
    if (kLaps || !is_first) next.load(of.first + p);
    next.send([&](int rank, dev::WordPair data) {
      channel.send(rank, of.place + p, WordChannel::carried(data));
    });
  }
  // Pair `at` of the channel of everybody, folded; mine is `own`.
  WEFT_DEVICE bool fold(const WordChannel& channel, std::size_t at, dev::WordPair own,
                        dev::WordPair* result) const {
    FoldOfVector<T> fold;
    const auto use = [&](int rank, dev::WordPair data) {
      fold.add(ReduceOp::kSum, rank == 0, {data.first, data.second});
    };
    const auto mine = [&] { return WordChannel::carried(own); };
    if (!channel.take<kOthers>(at, mine, use)) return false;
    const Vector sum = fold.result();
    *result = {sum.low, sum.high};
    return true;
  }
};

// AllReduce in one shot (in_stride 0): everybody gets all and folds it; and ReduceScatter.
template <class T, class Pairs, int kOthers, bool kLaps>
struct FoldWords : WordCall<T, Pairs, kOthers, kLaps> {
  WEFT_DEVICE void operator()() const {
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->in(rank), pair);
    };
    const auto lap = [&](const WordChannel& channel, auto& next, const Lap& of) {
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      this->send(channel, next, of, p, true);
      for (; p < of.count; p += step) {
        this->send(channel, next, of, p + step, false);
        const dev::WordPair own = this->pairs().load(this->in(this->team.rank), of.first + p);
        dev::WordPair sum;
        if (!this->fold(channel, of.place + p, own, &sum)) return false;
        this->pairs().store(this->m.out, of.first + p, sum);
      }
      return true;
    };
    const bool same = this->m.in_stride == 0;
    this->run(same ? "AllReduce" : "ReduceScatter", 1, shares(this->m.bytes, sizeof(Vector)), same,
              get, lap);
  }
};

// AllReduce in two shots, a round each: rank d folds the d-th part of the pairs, and sends it to
// all. Parts are of the same number of pairs, so that all hear from all. A pair of the second round
// is sent once that of the first has come from everybody: whoever sends has left the round before
// both.
template <class T, class Pairs, int kOthers, bool kLaps>
struct TwoShotWords : WordCall<T, Pairs, kOthers, kLaps> {
  WEFT_DEVICE void operator()() const {
    const std::size_t of_part =
        shares(shares(this->m.bytes, sizeof(Vector)), static_cast<unsigned>(this->team.size));
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->m.in, static_cast<unsigned>(rank) * of_part + pair);
    };
    const auto lap = [&](const WordChannel& channel, auto& next, const Lap& of) {
      const Parts parts{of_part, of};
      const std::size_t step = dev::block_size(), mine = dev::thread_rank();
      this->send(channel, next, of, mine, true);
      bool ok = true;
      for (std::size_t p = mine; ok && p < of.count; p += step) {
        this->send(channel, next, of, p + step, false);
        ok = fold_mine(channel, parts, p) && (p == mine || take_sums(channel, parts, p - step));
        if (ok && p + step >= of.count) ok = take_sums(channel, parts, p);
      }
      return ok;
    };
    this->run("AllReduce", 2, of_part, false, get, lap);
  }

 private:
  struct Parts {
    std::size_t pairs;  // of each
    const Lap& of;
    // Where pair `at` of the lap lies in the message, of that rank's part.
    WEFT_DEVICE std::size_t place(int rank, std::size_t at) const {
      return static_cast<unsigned>(rank) * pairs + of.first + at;
    }
  };

  WEFT_DEVICE bool fold_mine(const WordChannel& channel, const Parts& parts, std::size_t at) const {
    const std::size_t mine = parts.place(this->team.rank, at), place = parts.of.place + at;
    dev::WordPair sum;
    if (!this->fold(channel, place, this->pairs().load(this->m.in, mine), &sum)) return false;
    sum = WordChannel::carried(sum);
    channel.send_to_all(place, sum, 1);
    this->pairs().store(this->m.out, mine, sum);
    return true;
  }
  WEFT_DEVICE bool take_sums(const WordChannel& channel, const Parts& parts, std::size_t at) const {
    const auto use = [&](int rank, dev::WordPair sum) {
      if (rank != this->team.rank) this->pairs().store(this->m.out, parts.place(rank, at), sum);
    };
    const auto nothing = [] { return dev::WordPair{0, 0}; };
    return channel.take<kOthers>(parts.of.place + at, nothing, use, 1);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
