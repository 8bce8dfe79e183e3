// AllReduceNorm by Lamport (lamport_call.hpp): few rows, each a block's, or a cluster's. All
// that a block has to send is under way before it takes its first row.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce_norm/ll_simple.hpp"
#include "kernels/collectives/all_reduce_norm/row_cut.hpp"
#include "kernels/collectives/all_reduce_norm/row_squares.hpp"
#include "kernels/collectives/lamport_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/core/cluster.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Threads go through the lanes of a block's part of a row: each is a pair that this PE sends, and
// one that it norms. In one shot it goes to everybody, who fold it. In two it goes to the one rank
// that folds it and sends the sum to everybody: the ranks' lanes lie behind one another, those that
// this rank folds first, so that no thread takes a sum before it has folded what is its own.
//
// kOnePair: a thread has one lane at most, which it keeps in registers from load to norm.
template <class T, class Pairs, int kOthers, bool kTwoShot, bool kOnePair>
struct NormLamport : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  static constexpr bool kStartsEarly = true;
  NormRows norm;

  static std::size_t shared_bytes(int team_size, std::size_t row_bytes) {
    return sums_at(team_size) + RowSquares::shared_bytes(chunks_of_row(row_bytes));
  }
  WEFT_DEVICE void operator()() const {
    const Work work = work_of_block();
    const unsigned thread = dev::thread_rank();
    RowSquares squares(dev::shared<std::byte>() + sums_at(team.size), norm.split,
                       chunks_of_row(norm.row_bytes));
    const dev::Context ctx(handle);
    LamportChannel channel(ctx, team, space, "AllReduceNorm");
    wait_in_stream();
    dev::LamportPair first{0, 0};
    if constexpr (kOnePair)
      if (thread < work.lanes) first = load(m.in, work.row, lane(work, thread, 0).pair);
    channel.begin();
    pause(Point::kBeforeData);
    // A block that gives up still comes to the cluster's barriers.
    bool ok = channel.is_open();
    if (ok) {
      channel.enter();
      unsigned count = 0;
      for (std::size_t row = work.row; row < rows(); row += work.groups, ++count)
        send_row(channel, work, row, count, first);
    }
    squares.open();
    unsigned count = 0;
    for (std::size_t row = work.row; row < rows(); row += work.groups, ++count)
      ok = norm_row(channel, squares, work, row, count, first, ok);
    if (kTwoShot && channel.is_open()) channel.enter();
    channel.close(ok);
  }

 private:
  // This block's share: rows row, row + groups, ..., and of each a part from pair `begin`.
  struct Work {
    std::size_t row, groups;
    unsigned begin, part;    // pairs
    unsigned folded, lanes;  // lanes that a rank folds, and all
  };
  struct Lane {
    int rank;            // that folds it
    std::size_t offset;  // in the channel
    unsigned pair;       // of the row
    bool is_there;       // lanes are whole chunks for each rank, so some are of no pair
  };

  static WEFT_HOST_DEVICE std::size_t sums_at(int team_size) {
    return (LamportChannel::shared_bytes(team_size) + 15) / 16 * 16;
  }
  WEFT_DEVICE std::size_t rows() const { return m.bytes / norm.row_bytes; }
  WEFT_DEVICE Pairs pairs() const { return {norm.row_bytes}; }
  WEFT_DEVICE Work work_of_block() const {
    const unsigned block = dev::block_rank(), part = pairs_of_part(norm.row_bytes, norm.split);
    const int ranks = kTwoShot ? team.size : 1;
    const unsigned folded = folded_by_rank(part, ranks);
    return {block / norm.split,
            dev::grid_size() / norm.split,
            block % norm.split * part,
            part,
            folded,
            folded * static_cast<unsigned>(ranks)};
  }
  // `count`: rows of the block before it in this call.
  WEFT_DEVICE Lane lane(const Work& work, unsigned index, unsigned count) const {
    const std::size_t before = std::size_t{count} * work.folded;
    if constexpr (!kTwoShot) return {team.rank, before + index, work.begin + index, true};
    const int rank = other_of(team, static_cast<int>(index / work.folded));
    const unsigned at = index % work.folded;
    const unsigned pair = static_cast<unsigned>(rank) * work.folded + at;
    return {rank, before + at, work.begin + pair, pair < work.part};
  }
  WEFT_DEVICE dev::LamportPair load(const std::byte* rows, std::size_t row, unsigned pair) const {
    return pairs().load(rows + row * norm.row_bytes, pair);
  }
  WEFT_DEVICE void store(std::byte* rows, std::size_t row, unsigned pair,
                         dev::LamportPair data) const {
    pairs().store(rows + row * norm.row_bytes, pair, data);
  }
  // My pair of that lane.
  WEFT_DEVICE dev::LamportPair own(std::size_t row, unsigned count, const Lane& l,
                                   dev::LamportPair first) const {
    return kOnePair && count == 0 ? first : load(m.in, row, l.pair);
  }

  WEFT_DEVICE void send_row(const LamportChannel& channel, const Work& work, std::size_t row,
                            unsigned count, dev::LamportPair first) const {
    for (unsigned i = dev::thread_rank(); i < work.lanes; i += dev::block_size()) {
      const Lane l = lane(work, i, count);
      if (!l.is_there || (kTwoShot && l.rank == team.rank)) continue;
      const dev::LamportPair data = LamportChannel::carried(own(row, count, l, first));
      if constexpr (kTwoShot)
        channel.send(l.rank, l.offset, data);
      else
        channel.send_to_all(l.offset, data);
    }
  }
  // False: gave up, now or before.
  WEFT_DEVICE bool norm_row(const LamportChannel& channel, RowSquares& squares, const Work& work,
                            std::size_t row, unsigned count, dev::LamportPair first,
                            bool ok) const {
    dev::LamportPair sum{0, 0}, weight{0, 0};
    for (unsigned i = dev::thread_rank(); i < work.lanes; i += dev::block_size()) {
      const Lane l = lane(work, i, count);
      sum = {0, 0};
      if (l.is_there) {
        if constexpr (kOnePair) weight = pairs().load(norm.weight, l.pair);
        if (ok) ok = take(channel, row, l, own(row, count, l, first), &sum);
        if (ok) store(m.out, row, l.pair, sum);
      }
      squares.add(l.is_there ? l.pair : ~0u, squares_of(sum));
    }
    const float total = squares.total();
    if (!ok) return false;
    const float scale = scale_of(norm, total);
    for (unsigned i = dev::thread_rank(); i < work.lanes; i += dev::block_size()) {
      const Lane l = lane(work, i, count);
      if (!l.is_there) continue;
      if constexpr (!kOnePair) {
        sum = load(m.out, row, l.pair);  // as this thread stored it
        weight = pairs().load(norm.weight, l.pair);
      }
      store(
          norm.out, row, l.pair,
          {normed<T>(sum.first, weight.first, scale), normed<T>(sum.second, weight.second, scale)});
    }
    return true;
  }
  // The sum of that lane, of which this PE has `mine`. False: gave up.
  WEFT_DEVICE bool take(const LamportChannel& channel, std::size_t row, const Lane& l,
                        dev::LamportPair mine, dev::LamportPair* sum) const {
    if (l.rank != team.rank) return channel.take_from(l.rank, l.offset, sum, 1);
    const dev::LamportPair residual = load(m.addend, row, l.pair);  // before the wait
    FoldOfVector<T> fold;
    const auto use = [&](int rank, dev::LamportPair data) {
      fold.add(ReduceOp::kSum, rank == 0, {data.first, data.second});
    };
    const auto get_mine = [&] { return LamportChannel::carried(mine); };
    if (!channel.take<kOthers>(l.offset, get_mine, use)) return false;
    fold.add(ReduceOp::kSum, false, {residual.first, residual.second});
    const Vector result = fold.result();
    *sum = LamportChannel::carried({result.low, result.high});
    if constexpr (kTwoShot) channel.send_to_all(l.offset, *sum, 1);
    return true;
  }
  static WEFT_DEVICE float squares_of(dev::LamportPair sum) {
    return UnitOfRow<T>(sum.first).squares() + UnitOfRow<T>(sum.second).squares();
  }
};

template <class T, class Pairs, int kOthers, bool kTwoShot, bool kOnePair>
Status start_norm_lamport(const NormCall& call, Stream stream) {
  using Kernel = NormLamport<T, Pairs, kOthers, kTwoShot, kOnePair>;
  const NormRows& n = call.norm;
  return start(call, Kernel{kernel_call(call), n}, stream,
               Kernel::shared_bytes(call.team.size, n.row_bytes), n.split);
}
template <class T, bool kTwoShot>
Status start_norm_lamport(const NormCall& call, Stream stream) {
  const NormRows& n = call.norm;
  const Messages& m = call.messages;
  const bool are_whole = WholePairs::are_in(m) && n.row_bytes % sizeof(Vector) == 0 &&
                         is_aligned(m.addend) && is_aligned(n.out) && is_aligned(n.weight);
  if (!are_whole) return start_norm_lamport<T, AnyPairs, 3, kTwoShot, false>(call, stream);
  if (lanes_of_part(n.row_bytes, n.split, kTwoShot ? call.team.size : 1) > call.plan.threads)
    return start_norm_lamport<T, WholePairs, 3, kTwoShot, false>(call, stream);
  return call.team.size > 4 ? start_norm_lamport<T, WholePairs, 7, kTwoShot, true>(call, stream)
                            : start_norm_lamport<T, WholePairs, 3, kTwoShot, true>(call, stream);
}

struct NormByLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLamport, Protocol::kLamport, Parts::kOne,
                                           Algorithm::kLL};
  static Status run(const NormCall& call, Stream stream) {
    return with_float_type(call.dtype, [&](auto zero) {
      return start_norm_lamport<decltype(zero), false>(call, stream);
    });
  }
};
struct NormByTwoShotLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kTwoShotLamport, Protocol::kLamport,
                                           Parts::kMembers, Algorithm::kTwoShotLL};
  static Status run(const NormCall& call, Stream stream) {
    return with_float_type(call.dtype, [&](auto zero) {
      return start_norm_lamport<decltype(zero), true>(call, stream);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
