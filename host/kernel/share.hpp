// ShareKernel: what a large reduction on GPUs does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host/kernel/block_barrier.hpp"
#include "host/kernel/grid_fold.hpp"
#include "host/kernel/units.hpp"

namespace weft::kernel {

// The work of a large reduction by a grid, once all members are there: reads what all members have
// of my share and stores the result on all (reduce) or on me (reducescatter). A reduce in place: a
// share is read and written by its owner only, who has read all when it writes.
struct ShareKernel : GridFold {
  bool scatters;
  WEFT_DEVICE void operator()() const;
};

// Units at, at + step, ... up to `units`: kMany of each member are under way to a thread before it
// folds the first.
template <std::size_t kMany, class Unit, class Combine>
WEFT_DEVICE void fold_some(const ShareKernel& k, Unit* to, const Unit* from, std::size_t at,
                           std::size_t step, std::size_t units, Combine combine) {
  const int n = k.team.size;
  const auto is_there = [&](std::size_t i) { return at + i * step < units; };
  // The first once more rather than under a condition.
  const auto place = [&](std::size_t i) { return is_there(i) ? at + i * step : at; };
  Unit sum[kMany];
  const Unit* const first = on_member(k, from, 0);
  for (std::size_t i = 0; i < kMany; ++i) sum[i] = first[place(i)];
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 1; rank < n; ++rank) {
    const Unit* const theirs = on_member(k, from, rank);
    Unit part[kMany];
    for (std::size_t i = 0; i < kMany; ++i) part[i] = theirs[place(i)];
    for (std::size_t i = 0; i < kMany; ++i) sum[i] = combine(sum[i], part[i]);
  }
  // Starting with me, so that not all members store to the same one at a time.
  const int receivers = k.scatters ? 1 : n;
  WEFT_DEVICE_AS_A_LOOP
  for (int i = 0; i < receivers; ++i) {
    Unit* const theirs = on_member(k, to, dev::wrapped(k.team.rank + i, n));
    for (std::size_t j = 0; j < kMany; ++j)
      if (is_there(j)) theirs[at + j * step] = sum[j];
  }
}

// `units` of which each is a T or a Pack; `from` and `to` are mine.
template <std::size_t kMany, class Unit, class Combine>
WEFT_DEVICE void fold_units(const ShareKernel& k, Unit* to, const Unit* from, std::size_t units,
                            Combine combine) {
  const std::size_t step = grid_threads();
  for (std::size_t at = my_thread(); at < units; at += kMany * step)
    fold_some<kMany>(k, to, from, at, step, units, combine);
}

template <class T, ReduceOp kOp>
WEFT_DEVICE void fold_share(const ShareKernel& k, dev::coll::ElementFold<T, kOp>) {
  const int n = k.team.size;
  const std::size_t bytes = k.count * sizeof(T);
  const dev::Share share = k.scatters ? dev::Share{0, bytes} : dev::share_of(bytes, n, k.team.rank);
  const std::size_t mine =
      k.scatters ? bytes * static_cast<std::size_t>(k.team.rank) : share.offset;
  in_units<T>(k.dst + share.offset, k.src + mine, share.bytes,
              [&](auto* to, const auto* from, std::size_t units) {
                using Unit = std::remove_pointer_t<decltype(to)>;
                // Narrow elements take their time.
                constexpr std::size_t kAtOnce = sizeof(T) < 4 || sizeof(Unit) == sizeof(T) ? 1 : 4;
                fold_units<kAtOnce>(k, to, from, units, CombineUnits<kOp>{});
              });
}

WEFT_DEVICE void ShareKernel::operator()() const {
  between_barriers(handle, team, words, scatters ? "reducescatter" : "reduce",
                   [&] { fold.visit([&](auto typed) { fold_share(*this, typed); }); });
}

}  // namespace weft::kernel
