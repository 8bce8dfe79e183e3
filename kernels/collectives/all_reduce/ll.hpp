// AllReduce and ReduceScatter by LL.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/ll_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/core/pause.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllReduce in one shot (in_stride 0): everybody gets all and folds it; and ReduceScatter. A thread
// has kUnits units under way at a time.
template <class T, int kUnits = 1>
struct FoldLL : LLCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;

  // Units of a message that go through the channel.
  WEFT_DEVICE std::size_t units() const { return dev::packed_units(m.bytes); }
  // A round, of `count` of them.
  WEFT_DEVICE bool round(LLChannel& channel, std::size_t first, std::size_t count) const {
    const std::size_t step = dev::block_size();
    pause(Point::kBeforeData);
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
        [&](LLChannel& channel, std::size_t first, std::size_t count) {
          return round(channel, first, count);
        });
  }

 private:
  WEFT_DEVICE void send_all(const LLChannel& channel, std::size_t at, std::size_t unit,
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
// all. Parts are of the same number of units, so that all receive from all; what is beyond the end
// is sent as zeros. Unit u of the second round is sent once unit u of the first has come from
// everybody: whoever sends has left the round before both.
template <class T, int kUnits = 1>
struct TwoShotLL : LLCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;

  // Units of a part.
  WEFT_DEVICE std::size_t units() const {
    const auto size = static_cast<std::size_t>(team.size);
    return (dev::packed_units(m.bytes) + size - 1) / size;
  }
  // The two rounds of `count` units of every part; the caller has entered the first.
  WEFT_DEVICE bool round(LLChannel& channel, std::size_t first, std::size_t count) const {
    pause(Point::kBeforeData);
    send_parts(channel, first, count);
    const bool folded = fold_mine(channel, first, count);
    channel.enter();
    return folded && take_parts(channel, first, count);
  }
  WEFT_DEVICE void operator()() const {
    rounds(
        "AllReduce", share_of(units()), [] {},
        [&](LLChannel& channel, std::size_t first, std::size_t count) {
          return round(channel, first, count);
        });
  }

 private:
  WEFT_DEVICE void store_if_there(std::size_t unit, std::uint64_t data) const {
    if (unit < dev::packed_units(m.bytes)) store(unit, data);
  }
  WEFT_DEVICE void send_parts(const LLChannel& channel, std::size_t first,
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
  WEFT_DEVICE bool fold_mine(const LLChannel& channel, std::size_t first, std::size_t count) const {
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
  WEFT_DEVICE bool take_parts(const LLChannel& channel, std::size_t first,
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

// The rows of the registries. Their run() are templates, since AllReduceNorm's kernels are made of
// those above alone.
struct FoldByLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLL, Protocol::kLL};
  template <class Call>
  static Status run(const Call& call, Stream stream) {
    return with_type(call.dtype, [&](auto zero) {
      return start(call, FoldLL<decltype(zero)>{ll_call(call), call.op}, stream,
                   shared_bytes_of_ll(call));
    });
  }
};
struct TwoShotByLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kTwoShotLL, Protocol::kLL, Parts::kMembers};
  template <class Call>
  static Status run(const Call& call, Stream stream) {
    return with_type(call.dtype, [&](auto zero) {
      return start(call, TwoShotLL<decltype(zero)>{ll_call(call), call.op}, stream,
                   shared_bytes_of_ll(call));
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
