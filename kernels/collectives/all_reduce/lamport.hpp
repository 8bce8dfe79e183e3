// Sums by Lamport (lamport_call.hpp): AllReduce and ReduceScatter of floats, whose NaNs may
// change their bits.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/lamport_call.hpp"
#include "kernels/collectives/start_lamport.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/protocol/lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

template <class T, class Pairs, int kOthers, bool kPasses>
struct SumLamport : LamportCall<LamportChannel, Pairs, kOthers, kPasses> {
  // Pair `at` of the channel of everybody, folded; mine is `own`.
  WEFT_DEVICE bool fold(const LamportChannel& channel, std::size_t at, dev::LamportPair own,
                        dev::LamportPair* result) const {
    FoldOfVector<T> fold;
    const auto use = [&](int rank, dev::LamportPair data) {
      fold.add(ReduceOp::kSum, rank == 0, {data.first, data.second});
    };
    const auto mine = [&] { return LamportChannel::carried(own); };
    if (!channel.take<kOthers>(at, mine, use)) return false;
    const Vector sum = fold.result();
    *result = {sum.low, sum.high};
    return true;
  }
};

// AllReduce in one shot (in_stride 0): everybody gets all and folds it; and ReduceScatter.
template <class T, class Pairs, int kOthers, bool kPasses>
struct FoldLamport : SumLamport<T, Pairs, kOthers, kPasses> {
  WEFT_DEVICE void operator()() const {
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->in(rank), pair);
    };
    const auto pass = [&](const LamportChannel& channel, auto& next, const Pass& of) {
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      this->send(channel, next, of, p, true);
      for (; p < of.count; p += step) {
        this->send(channel, next, of, p + step, false);
        const dev::LamportPair own = this->pairs().load(this->in(this->team.rank), of.first + p);
        dev::LamportPair sum;
        if (!this->fold(channel, of.offset + p, own, &sum)) return false;
        this->pairs().store(this->m.out, of.first + p, sum);
      }
      return true;
    };
    const bool same = this->m.in_stride == 0;
    this->run(same ? "AllReduce" : "ReduceScatter", 1, ceil_div(this->m.bytes, sizeof(Vector)),
              same, get, pass);
  }
};

// AllReduce in two shots, a round each: rank d folds the d-th part of the pairs, and sends it to
// all. Parts are of the same number of pairs, so that all receive from all. A pair of the second
// round is sent once that of the first has come from everybody: whoever sends has left the round
// before both.
template <class T, class Pairs, int kOthers, bool kPasses>
struct TwoShotLamport : SumLamport<T, Pairs, kOthers, kPasses> {
  WEFT_DEVICE void operator()() const {
    const std::size_t of_part =
        ceil_div(ceil_div(this->m.bytes, sizeof(Vector)), static_cast<unsigned>(this->team.size));
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->m.in, static_cast<unsigned>(rank) * of_part + pair);
    };
    const auto pass = [&](const LamportChannel& channel, auto& next, const Pass& of) {
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
    this->run("AllReduce", 2, of_part, false, get, pass);
  }

 private:
  struct Parts {
    std::size_t pairs;  // of each
    const Pass& of;
    // Where pair `at` of the pass lies in the message, of that rank's part.
    WEFT_DEVICE std::size_t index(int rank, std::size_t at) const {
      return static_cast<unsigned>(rank) * pairs + of.first + at;
    }
  };

  WEFT_DEVICE bool fold_mine(const LamportChannel& channel, const Parts& parts,
                             std::size_t at) const {
    const std::size_t mine = parts.index(this->team.rank, at), offset = parts.of.offset + at;
    dev::LamportPair sum;
    if (!this->fold(channel, offset, this->pairs().load(this->m.in, mine), &sum)) return false;
    sum = LamportChannel::carried(sum);
    channel.send_to_all(offset, sum, 1);
    this->pairs().store(this->m.out, mine, sum);
    return true;
  }
  WEFT_DEVICE bool take_sums(const LamportChannel& channel, const Parts& parts,
                             std::size_t at) const {
    const auto use = [&](int rank, dev::LamportPair sum) {
      if (rank != this->team.rank) this->pairs().store(this->m.out, parts.index(rank, at), sum);
    };
    const auto nothing = [] { return dev::LamportPair{0, 0}; };
    return channel.take<kOthers>(parts.of.offset + at, nothing, use, 1);
  }
};

template <class T>
struct SumsByLamport {
  template <class Pairs, int kOthers, bool kPasses>
  using OneShot = FoldLamport<T, Pairs, kOthers, kPasses>;
  template <class Pairs, int kOthers, bool kPasses>
  using TwoShot = TwoShotLamport<T, Pairs, kOthers, kPasses>;
};
struct FoldByLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLamport, Protocol::kLamport, Parts::kOne,
                                           Algorithm::kLL};
  static Status run(const ReduceCall& call, Stream stream) {
    return with_float_type(call.dtype, [&](auto zero) {
      return start_lamport<SumsByLamport<decltype(zero)>::template OneShot>(call, stream);
    });
  }
};
struct TwoShotByLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kTwoShotLamport, Protocol::kLamport,
                                           Parts::kMembers, Algorithm::kTwoShotLL};
  static Status run(const ReduceCall& call, Stream stream) {
    return with_float_type(call.dtype, [&](auto zero) {
      return start_lamport<SumsByLamport<decltype(zero)>::template TwoShot>(call, stream);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
