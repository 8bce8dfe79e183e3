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
#include "kernels/core/word_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The pairs of a message; beyond its end are zeros, which go nowhere. Here all are whole, each at a
// multiple of 16 bytes: a kernel of its own, since one that asks of each waits for each.
struct WholePairs {
  std::size_t bytes;
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
  // lap(channel, Lap) for each lap of so many pairs, which blocks share; false: gave up. Laps are
  // in the same rounds.
  template <class OneLap>
  WEFT_DEVICE void run(const char* where, int rounds, std::size_t all, OneLap lap) const {
    const Share share = share_of(2 * all);
    if (share.count == 0) return;
    const dev::Context ctx(handle);
    WordChannel channel(ctx, team, space, where);
    WEFT_KERNELS_PAUSE(kBeforeData);
    const std::size_t first = share.begin / 2, count = (share.count + 1) / 2;
    bool ok = channel.is_open();
    if (ok) {
      channel.enter();
      if constexpr (kLaps)
        ok = laps(ctx, where, first, count, [&](const Lap& one) { return lap(channel, one); });
      else
        ok = lap(channel, Lap{first, count, 0});
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
    const auto lap = [&](const WordChannel& channel, const Lap& of) {
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      if (p < of.count) send(channel, of, p);
      for (; p < of.count; p += step) {
        if (p + step < of.count) send(channel, of, p + step);
        const dev::WordPair own = this->pairs().load(this->in(this->team.rank), of.first + p);
        dev::WordPair sum;
        if (!this->fold(channel, of.place + p, own, &sum)) return false;
        this->pairs().store(this->m.out, of.first + p, sum);
      }
      return true;
    };
    this->run(this->m.in_stride == 0 ? "AllReduce" : "ReduceScatter", 1,
              shares(this->m.bytes, sizeof(Vector)), lap);
  }

 private:
  WEFT_DEVICE void send(const WordChannel& channel, const Lap& of, std::size_t at) const {
    const auto carried = [&](const std::byte* message) {
      return WordChannel::carried(this->pairs().load(message, of.first + at));
    };
    if (this->m.in_stride == 0) return channel.send_to_all(of.place + at, carried(this->m.in));
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.other(i);
      channel.send(rank, of.place + at, carried(this->in(rank)));
    }
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
    const auto lap = [&](const WordChannel& channel, const Lap& of) {
      const Parts parts{of_part, of};
      const std::size_t step = dev::block_size(), mine = dev::thread_rank();
      if (mine < of.count) send_parts(channel, parts, mine);
      bool ok = true;
      for (std::size_t p = mine; ok && p < of.count; p += step) {
        if (p + step < of.count) send_parts(channel, parts, p + step);
        ok = fold_mine(channel, parts, p) && (p == mine || take_sums(channel, parts, p - step));
        if (ok && p + step >= of.count) ok = take_sums(channel, parts, p);
      }
      return ok;
    };
    this->run("AllReduce", 2, of_part, lap);
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

  WEFT_DEVICE void send_parts(const WordChannel& channel, const Parts& parts,
                              std::size_t at) const {
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.other(i);
      const dev::WordPair data = this->pairs().load(this->m.in, parts.place(rank, at));
      channel.send(rank, parts.of.place + at, WordChannel::carried(data));
    }
  }
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
