// ScanShareKernel: what a large scan on GPUs does.
#pragma once

#include <cstddef>

#include "host/kernel/block_barrier.hpp"
#include "host/kernel/grid_fold.hpp"
#include "host/kernel/units.hpp"

namespace weft::kernel {

// The work of a large scan by a grid, once all members are there: folds my share rank after rank
// and stores what stands between two ranks on the right one. In place: a share is read and written
// by its owner only, who has read a rank's when it writes it.
struct ScanShareKernel : GridFold {
  bool inclusive;
  WEFT_DEVICE void operator()() const;
};

template <ReduceOp kOp, class T>
WEFT_DEVICE void identity_of(T* unit) {
  *unit = dev::coll::identity<kOp, T>();
}
template <ReduceOp kOp, class T>
WEFT_DEVICE void identity_of(Pack<T>* unit) {
  for (T& element : unit->element) element = dev::coll::identity<kOp, T>();
}

// The unit at `at` of all members. The unit of the first is taken as it is: identity op x is not
// always x bit for bit (0 + -0).
template <ReduceOp kOp, class Unit>
WEFT_DEVICE void scan_unit(const ScanShareKernel& k, Unit* to, const Unit* from, std::size_t at) {
  const int n = k.team.size;
  Unit before;
  identity_of<kOp>(&before);
  Unit next = on_member(k, from, 0)[at];
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 0; rank < n; ++rank) {
    const Unit through = rank == 0 ? next : CombineUnits<kOp>{}(before, next);
    if (rank + 1 < n) next = on_member(k, from, rank + 1)[at];  // under way during the store
    on_member(k, to, rank)[at] = k.inclusive ? through : before;
    before = through;
  }
}

template <class T, ReduceOp kOp>
WEFT_DEVICE void scan_share(const ScanShareKernel& k, dev::coll::ElementFold<T, kOp>) {
  const dev::Share share = dev::share_of(k.count * sizeof(T), k.team.size, k.team.rank);
  in_units<T>(k.dst + share.offset, k.src + share.offset, share.bytes,
              [&](auto* to, const auto* from, std::size_t units) {
                for (std::size_t at = my_thread(); at < units; at += grid_threads())
                  scan_unit<kOp>(k, to, from, at);
              });
}

WEFT_DEVICE void ScanShareKernel::operator()() const {
  between_barriers(handle, team, words, inclusive ? "scan_inclusive" : "scan_exclusive",
                   [&] { fold.visit([&](auto typed) { scan_share(*this, typed); }); });
}

}  // namespace weft::kernel
