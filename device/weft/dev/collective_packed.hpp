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

// The buffers of a call.
struct Buffers {
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;  // of a block
};

// Down the tree of broadcast_small(), unit by unit: a thread passes on what it has taken. A member
// hears from one alone, whose units lie where those of rank 0 and the next ones do otherwise.
struct PackedTree {
  int n, root, v;  // v: my rank from the root on

  WEFT_DEVICE bool is_flat() const { return n <= kFlatBroadcast; }
  WEFT_DEVICE int parent() const { return is_flat() ? root : wrapped(tree_parent(v) + root, n); }
  // How far ahead I send first; then each nearer one by one where all hear from the root, or half
  // as far.
  WEFT_DEVICE int reach() const { return !is_flat() ? tree_reach(v, n) : v == 0 ? n - 1 : 0; }
  template <class Member>
  WEFT_DEVICE void pass_on(const Member& m, const PackedPlaces& places, int reach,
                           const typename Member::Hand& some,
                           const typename Member::Hand::Units& units) const {
    WEFT_DEVICE_AS_A_LOOP
    for (int ahead = reach; ahead > 0; ahead = is_flat() ? ahead - 1 : ahead / 2)
      if (v + ahead < n) m.send(places, 0, wrapped(v + ahead + root, n), some, units);
  }
};

// use(some, units) of the units of a message that are my thread's; some are loaded at once.
template <bool kLooksForWhole, class Scope, class Use>
WEFT_DEVICE void for_units(const Scope& scope, const std::byte* message, unsigned bytes, Use use) {
  using Hand = UnitsInHand<Scope>;
  Hand some(scope, bytes);
  WEFT_DEVICE_AS_A_LOOP
  for (; !some.is_empty(); some.next()) {
    typename Hand::Units units = {};  // known, or registers would be kept for them
    some.template load<kLooksForWhole>(units, message, bytes);
    use(some, units);
  }
}
// The root's units.
template <class Member>
WEFT_DEVICE void pass_own_units(const Member& m, const Buffers& b, const PackedTree& tree,
                                bool writes) {
  const auto bytes = static_cast<unsigned>(b.bytes);
  const PackedPlaces places = m.places();
  const int reach = tree.reach();
  for_units<true>(m.scope(), b.src, bytes, [&](const auto& some, const auto& units) {
    tree.pass_on(m, places, reach, some, units);
    if (writes) some.store(units, b.dst, bytes);
  });
}
// The others' units from `some` on, until they do not come soon, or none is left.
template <class Member>
WEFT_DEVICE void pass_units(const Member& m, const Buffers& b, const PackedTree& tree,
                            typename Member::Hand& some) {
  const PackedPlaces places = m.places();
  const int reach = tree.reach();
  WEFT_DEVICE_AS_A_LOOP
  for (; !some.is_empty(); some.next()) {
    typename Member::Hand::Units units = {};  // known, or registers would be kept for them
    if (!some.take(units, places, 0)) return;
    tree.pass_on(m, places, reach, some, units);
    some.store(units, b.dst, static_cast<unsigned>(b.bytes));
  }
}

// Without `root_too` the root's dst stays as it is.
template <class Member>
WEFT_DEVICE bool broadcast_packed(Member& m, const Buffers& b, int root, bool root_too = true) {
  const PackedTree tree{m.size(), root, wrapped(m.rank() - root + m.size(), m.size())};
  bool ok = m.begin();
  if (tree.v == 0) {
    if (ok) pass_own_units(m, b, tree, root_too && b.dst != b.src);
    return m.finish(ok, false);
  }
  typename Member::Hand some(m.scope(), static_cast<unsigned>(b.bytes));
  WEFT_DEVICE_AS_A_LOOP
  while (ok && (pass_units(m, b, tree, some), !some.is_empty()))
    ok = m.wait_for_units(0, tree.parent(), some);  // mutation: equivalent, polled again
  return m.finish(ok, false);
}

// Uses the units index, index + step, ... that I was sent. Returns the one where it stopped, since
// what it needs did not come soon, or none is left; it is to be used anew.
template <class Member, class Use>
WEFT_DEVICE unsigned use_units(const Member& m, const Buffers& b, unsigned index, Use use) {
  const int n = m.size();
  const auto count = static_cast<unsigned>(packed_units(b.bytes));
  const PackedPlaces places = m.places();
  WEFT_DEVICE_AS_A_LOOP
  for (; index < count; index += static_cast<unsigned>(m.scope().size())) {
    WEFT_DEVICE_AS_A_LOOP
    for (int first = 0; first < n; first += kTogether) {
      std::uint64_t units[kTogether] = {};
      if (!take_units(places.at(first, index), places.distance, n - first, places.flag, units))
        return index;
      for (int k = 0; k < kTogether && first + k < n; ++k) use(first + k, index, units[k]);
    }
  }
  return index;
}

// To each rank its block, which lie `stride` bytes apart: 0 where all get the same. To me, too: so
// all are taken alike.
template <bool kLooksForWhole, class Member>
WEFT_DEVICE void send_units(const Member& m, const Buffers& b, std::size_t stride) {
  const int n = m.size();
  const auto bytes = static_cast<unsigned>(b.bytes);
  const PackedPlaces places = m.places();
  const int first = wrapped(m.rank() + 1, n);  // not all begin with the same one
  if (stride == 0) {
    for_units<kLooksForWhole>(m.scope(), b.src, bytes, [&](const auto& some, const auto& units) {
      WEFT_DEVICE_AS_A_LOOP
      for (int i = 0; i < n; ++i) m.send(places, m.rank(), wrapped(first + i, n), some, units);
    });
    return;
  }
  WEFT_DEVICE_AS_A_LOOP
  for (int i = 0; i < n; ++i) {
    const int to = wrapped(first + i, n);
    for_units<kLooksForWhole>(
        m.scope(), b.src + static_cast<std::size_t>(to) * stride, bytes,
        [&](const auto& some, const auto& units) { m.send(places, m.rank(), to, some, units); });
  }
}

// Everybody sends everybody a block. use(rank, index, unit) takes each unit of each rank's block
// for me: a thread all ranks' of one index, in the order of the ranks. So use() may write where
// blocks lie, unit on unit: a thread has sent what stands there. No thread waits for another here.
template <class Member, class Use>
WEFT_DEVICE bool exchange_packed(Member& m, const Buffers& b, std::size_t stride, Use use) {
  const auto count = static_cast<unsigned>(packed_units(b.bytes));
  bool ok = m.begin();
  auto next = static_cast<unsigned>(m.scope().rank());
  if (ok) send_units<false>(m, b, stride);
  WEFT_DEVICE_AS_A_LOOP
  while (ok && (next = use_units(m, b, next, use)) < count)
    ok = m.wait_for_ranks(next);  // mutation: equivalent, polled again
  return m.finish(ok, true);
}

// Stores a rank's units from `some` on, until they do not come soon, or none is left.
template <class Member>
WEFT_DEVICE void store_units(const Member& m, const Buffers& b, int rank,
                             typename Member::Hand& some) {
  WEFT_DEVICE_AS_A_LOOP
  for (; !some.is_empty(); some.next()) {
    typename Member::Hand::Units units = {};  // known, or registers would be kept for them
    if (!some.take(units, m.places(), rank)) return;
    platform::settle(rank);  // or a register would be kept for the place of the rank's block
    some.store(units, b.dst + static_cast<std::size_t>(rank) * b.bytes,
               static_cast<unsigned>(b.bytes));
  }
}

// The same exchange where a thread has more units than there are members: it takes them member by
// member, several at once.
template <class Member>
WEFT_DEVICE bool exchange_by_member(Member& m, const Buffers& b, std::size_t stride) {
  bool ok = m.begin();
  if (ok) send_units<true>(m, b, stride);
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 0; rank < m.size(); ++rank) {
    typename Member::Hand some(m.scope(), static_cast<unsigned>(b.bytes));
    WEFT_DEVICE_AS_A_LOOP
    while (ok && (store_units(m, b, rank, some), !some.is_empty()))
      ok = m.wait_for_units(rank, rank, some);  // mutation: equivalent, polled again
  }
  return m.finish(ok, true);
}

template <class Member>
WEFT_DEVICE bool exchange_packed(Member& m, const Buffers& b, std::size_t stride) {
  if constexpr (Member::Hand::kMost > kTogether) {
    if (packed_units(b.bytes) > static_cast<std::size_t>(m.size()))
      return exchange_by_member(m, b, stride);
  }
  return exchange_packed(m, b, stride, [&b](int rank, unsigned index, std::uint64_t unit) {
    store_unit(b.dst + static_cast<std::size_t>(rank) * b.bytes, static_cast<unsigned>(b.bytes),
               index, unit);
  });
}
template <class Member>
WEFT_DEVICE bool fcollect_packed(Member& m, const Buffers& b) {
  return exchange_packed(m, b, 0);
}
template <class Member>
WEFT_DEVICE bool alltoall_packed(Member& m, const Buffers& b) {
  return exchange_packed(m, b, b.bytes);
}

// A reduce or a reducescatter, as fold_pushed(). In place as exchange_packed() says.
template <class Member, class Fold>
WEFT_DEVICE bool fold_packed(Member& m, Folding what, const Buffers& b, const Fold& fold) {
  const int last = m.size() - 1;
  std::uint64_t sum = 0;
  return exchange_packed(m, b, what == Folding::kReduceScatter ? b.bytes : 0,
                         [&](int rank, unsigned index, std::uint64_t unit) {
                           sum = rank == 0 ? unit : fold.unit(sum, unit);
                           if (rank == last)
                             store_unit(b.dst, static_cast<unsigned>(b.bytes), index, sum);
                         });
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
