// Collectives of small messages where all PEs map all: one packed exchange (packed_member.hpp).
// Sources and results are touched by their owner alone, so nothing but the words is ever shared.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/packed_member.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

// Down the tree of broadcast_small(), unit by unit: a thread passes on what it has taken. Without
// `root_too` the root's dst stays as it is.
template <class Member>
WEFT_DEVICE bool broadcast_packed(Member& m, std::byte* dst, const std::byte* src,
                                  std::size_t bytes, int root, bool root_too = true) {
  const int n = m.size();
  const int v = wrapped(m.rank() - root + n, n);
  const bool flat = n <= kFlatBroadcast;
  const int parent = flat ? root : wrapped(tree_parent(v) + root, n);
  const int reach = flat ? 0 : tree_reach(v, n);
  const bool writes = v != 0 || (root_too && dst != src);
  const auto pass_on = [&](std::size_t index, std::uint64_t unit) {
    if (flat && v == 0)
      for (int i = 1; i < n; ++i) m.send(wrapped(root + i, n), index, unit);
    for (int ahead = reach; ahead > 0; ahead /= 2)
      if (v + ahead < n) m.send(wrapped(v + ahead + root, n), index, unit);
    if (writes) store_unit(dst, bytes, index, unit);
  };
  const std::size_t count = packed_units(bytes);
  const auto step = static_cast<std::size_t>(m.scope().size());
  // The units from `first` on; where it stopped, since they did not come soon, or none is left.
  const auto pass_units = [&](std::size_t first) {
    WEFT_DEVICE_AS_A_LOOP
    for (; first < count; first += kTogether * step) {
      std::uint64_t units[kTogether];
      if (v != 0 && !m.take_units(parent, first, step, count, units)) return first;
      for (std::size_t k = 0; k < kTogether; ++k) {
        const std::size_t index = first + k * step;
        if (index < count) pass_on(index, v != 0 ? units[k] : load_unit(src, bytes, index));
      }
    }
    return first;
  };
  bool ok = m.begin();
  m.find_places();
  auto next = static_cast<std::size_t>(m.scope().rank());
  WEFT_DEVICE_AS_A_LOOP
  while (ok && (next = pass_units(next)) < count)
    ok = m.wait_for_units(parent, next, step, count);  // mutation: equivalent, polled again
  return m.finish(ok, false);
}

// The units index, index + step, ... that I was sent; the one where it stopped, since what it needs
// did not come soon, or none is left. That one is used anew.
template <class Member, class BlockFor, class Use>
WEFT_DEVICE std::size_t use_units(Member& m, std::size_t bytes, std::size_t index, std::size_t step,
                                  BlockFor block_for, Use use) {
  const int n = m.size();
  const int me = m.rank();
  const std::size_t count = packed_units(bytes);
  WEFT_DEVICE_AS_A_LOOP
  for (; index < count; index += step) {
    WEFT_DEVICE_AS_A_LOOP
    for (int first = 0; first < n; first += kTogether) {
      std::uint64_t units[kTogether];
      if (!m.take_from_ranks(first, index, units)) return index;
      for (int k = 0; k < kTogether && first + k < n; ++k)
        use(first + k, index, first + k != me ? units[k] : load_unit(block_for(me), bytes, index));
    }
  }
  return index;
}

// The units mine, mine + step, ... of exchange_packed(): no thread waits for another here.
template <class Member, class BlockFor, class Use>
WEFT_DEVICE bool exchange_units(Member& m, std::size_t bytes, std::size_t mine, std::size_t step,
                                BlockFor block_for, Use use) {
  const int n = m.size();
  const int me = m.rank();
  const std::size_t count = packed_units(bytes);
  m.find_places();
  for (std::size_t index = mine; index < count; index += step) {
    WEFT_DEVICE_AS_A_LOOP
    for (int i = 1; i < n; ++i) {
      const int to = wrapped(me + i, n);  // not all begin with the same one
      m.send(to, index, load_unit(block_for(to), bytes, index));
    }
  }
  WEFT_DEVICE_AS_A_LOOP
  while ((mine = use_units(m, bytes, mine, step, block_for, use)) < count)
    if (!m.wait_for_ranks(mine)) return false;  // mutation: equivalent, polled again
  return true;
}

// Everybody sends everybody `bytes`: rank r gets block_for(r). use(rank, index, unit) takes each
// unit of each rank's block for me: a thread all ranks' of one index, in the order of the ranks. So
// use() may write where blocks lie, unit on unit: a thread has sent what stands there.
template <class Member, class BlockFor, class Use>
WEFT_DEVICE bool exchange_packed(Member& m, std::size_t bytes, BlockFor block_for, Use use) {
  const auto mine = static_cast<std::size_t>(m.scope().rank());
  const auto step = static_cast<std::size_t>(m.scope().size());
  bool ok = m.begin();
  if (ok && mine < packed_units(bytes)) ok = exchange_units(m, bytes, mine, step, block_for, use);
  return m.finish(ok, true);
}

template <class Member, class BlockFor>
WEFT_DEVICE bool exchange_packed(Member& m, std::byte* dst, std::size_t bytes, BlockFor block_for) {
  return exchange_packed(m, bytes, block_for, [&](int rank, std::size_t index, std::uint64_t unit) {
    const auto block = static_cast<std::size_t>(rank) * bytes;
    store_unit(dst + block, bytes, index, unit);
  });
}

template <class Member>
WEFT_DEVICE bool fcollect_packed(Member& m, std::byte* dst, const std::byte* src,
                                 std::size_t bytes) {
  return exchange_packed(m, dst, bytes, [&](int) { return src; });
}

template <class Member>
WEFT_DEVICE bool alltoall_packed(Member& m, std::byte* dst, const std::byte* src,
                                 std::size_t bytes) {
  return exchange_packed(m, dst, bytes,
                         [&](int to) { return src + static_cast<std::size_t>(to) * bytes; });
}

// A reduce or a reducescatter, as fold_pushed(). In place as exchange_packed() says.
template <class Member, class Fold>
WEFT_DEVICE bool fold_packed(Member& m, Folding what, std::byte* dst, const std::byte* src,
                             std::size_t count, const Fold& fold) {
  const std::size_t bytes = count * fold.element;
  const std::size_t stride = what == Folding::kReduceScatter ? bytes : 0;
  const auto block_for = [&](int rank) { return src + static_cast<std::size_t>(rank) * stride; };
  const int last = m.size() - 1;
  std::uint64_t sum = 0;
  return exchange_packed(m, bytes, block_for, [&](int rank, std::size_t index, std::uint64_t unit) {
    sum = rank == 0 ? unit : fold.unit(sum, unit);
    if (rank == last) store_unit(dst, bytes, index, sum);
  });
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
