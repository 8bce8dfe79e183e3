// Sums as words (word_kernels.hpp): AllReduce and ReduceScatter of floats, whose NaNs may change
// their bits.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/word_kernels.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/core/word_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

template <class T, class Pairs, int kOthers, bool kLaps>
struct SumWords : WordCall<WordChannel, Pairs, kOthers, kLaps> {
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
struct FoldWords : SumWords<T, Pairs, kOthers, kLaps> {
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
struct TwoShotWords : SumWords<T, Pairs, kOthers, kLaps> {
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
