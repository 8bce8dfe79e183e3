// Sums as words, two at a time, in one round or two: messages between the smallest, whose packets
// would be twice the bytes, and those in bulk, whose signals wait for what they tell of.
//
// A block has a contiguous share of every message. A thread sends a pair ahead of the one that it
// takes, so that links are busy while it folds; so out may be in, where the two are laid out alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"
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

// Of messages that are Pairs; those of kOthers are waited for at once.
template <class T, class Pairs, int kOthers>
struct WordCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;

  WEFT_DEVICE Pairs pairs() const { return {m.bytes}; }
  // body(channel, first of my block's, their count) of so many pairs that blocks share; false: gave
  // up.
  template <class Body>
  WEFT_DEVICE void run(const char* where, std::size_t all, Body body) const {
    const Share share = share_of(2 * all);
    if (share.count == 0) return;
    const dev::Context ctx(handle);
    WordChannel channel(ctx, team, space, where);
    WEFT_KERNELS_PAUSE(kBeforeData);
    const bool ok = channel.is_open() && body(channel, share.begin / 2, (share.count + 1) / 2);
    channel.close(ok);
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
template <class T, class Pairs, int kOthers>
struct FoldWords : WordCall<T, Pairs, kOthers> {
  WEFT_DEVICE void operator()() const {
    const Messages& m = this->m;
    const Pairs pairs = this->pairs();
    const auto body = [&](WordChannel& channel, std::size_t first, std::size_t count) {
      channel.enter();
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      if (p < count) send(channel, first, p);
      for (; p < count; p += step) {
        if (p + step < count) send(channel, first, p + step);
        dev::WordPair sum;
        if (!this->fold(channel, p, pairs.load(this->in(this->team.rank), first + p), &sum))
          return false;
        pairs.store(m.out, first + p, sum);
      }
      return true;
    };
    this->run(m.in_stride == 0 ? "AllReduce" : "ReduceScatter", shares(m.bytes, sizeof(Vector)),
              body);
  }

 private:
  WEFT_DEVICE void send(const WordChannel& channel, std::size_t first, std::size_t at) const {
    const Pairs pairs = this->pairs();
    if (this->m.in_stride == 0)
      return channel.send_to_all(at, WordChannel::carried(pairs.load(this->m.in, first + at)));
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.other(i);
      channel.send(rank, at, WordChannel::carried(pairs.load(this->in(rank), first + at)));
    }
  }
};

// AllReduce in two shots, a round each: rank d folds the d-th part of the pairs, and sends it to
// all. Parts are of the same number of pairs, so that all hear from all. A pair of the second round
// is sent once that of the first has come from everybody: whoever sends has left the round before
// both.
template <class T, class Pairs, int kOthers>
struct TwoShotWords : WordCall<T, Pairs, kOthers> {
  WEFT_DEVICE void operator()() const {
    const std::size_t of_part =
        shares(shares(this->m.bytes, sizeof(Vector)), static_cast<unsigned>(this->team.size));
    const auto body = [&](WordChannel& channel, std::size_t first, std::size_t count) {
      const Parts parts{of_part, first};
      channel.enter();
      const std::size_t step = dev::block_size(), mine = dev::thread_rank();
      if (mine < count) send_parts(channel, parts, mine);
      bool ok = true;
      for (std::size_t p = mine; ok && p < count; p += step) {
        if (p + step < count) send_parts(channel, parts, p + step);
        ok = fold_mine(channel, parts, p) && (p == mine || take_sums(channel, parts, p - step));
        if (ok && p + step >= count) ok = take_sums(channel, parts, p);
      }
      channel.enter();
      return ok;
    };
    this->run("AllReduce", of_part, body);
  }

 private:
  struct Parts {
    std::size_t pairs, first;  // of each; and that of my block
    // Where pair `at` of my block lies in the message, of that rank's part.
    WEFT_DEVICE std::size_t place(int rank, std::size_t at) const {
      return static_cast<unsigned>(rank) * pairs + first + at;
    }
  };

  WEFT_DEVICE void send_parts(const WordChannel& channel, const Parts& parts,
                              std::size_t at) const {
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.other(i);
      const dev::WordPair data = this->pairs().load(this->m.in, parts.place(rank, at));
      channel.send(rank, at, WordChannel::carried(data));
    }
  }
  WEFT_DEVICE bool fold_mine(const WordChannel& channel, const Parts& parts, std::size_t at) const {
    const std::size_t mine = parts.place(this->team.rank, at);
    dev::WordPair sum;
    if (!this->fold(channel, at, this->pairs().load(this->m.in, mine), &sum)) return false;
    sum = WordChannel::carried(sum);
    channel.send_to_all(at, sum, 1);
    this->pairs().store(this->m.out, mine, sum);
    return true;
  }
  WEFT_DEVICE bool take_sums(const WordChannel& channel, const Parts& parts, std::size_t at) const {
    const auto use = [&](int rank, dev::WordPair sum) {
      if (rank != this->team.rank) this->pairs().store(this->m.out, parts.place(rank, at), sum);
    };
    const auto nothing = [] { return dev::WordPair{0, 0}; };
    return channel.take<kOthers>(at, nothing, use, 1);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
