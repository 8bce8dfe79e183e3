// Collectives among few members that map each other, of messages that are not packed: bytes go
// straight into the others' dst, between two halves of barriers (direct_member.hpp).
//
//   exchange    all tell, hear all, store, tell, hear all: a member's dst is not written before it
//               has made the call, and is complete when all have told again
//   broadcast   pushed: the others tell at once, the root when it has stored; the root hears all
//               before that, the others hear the root. Pulled: the root tells at once, the others
//               when they have read its src; each hears whom it waits for likewise
//
// So either takes two ways to a peer, besides the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/dev/address.hpp>
#include <weft/dev/collective_packed.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/copy_tiles.hpp>
#include <weft/dev/direct_member.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/team_sync.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

// Stores of bytes that are not plain, or not in chunks, by any threads: `bytes` at src to where
// `dst` is at each rank but the `first` ones from mine on, `stride` further on in src for each
// rank.
struct Stores {
  Team team;
  Ranks who;
  std::byte* dst;
  const std::byte* src;
  std::size_t stride, bytes;
  int first;
};
WEFT_DEVICE_COLD void store_slowly(ByValue<ColdContext> cold, const Stores& s) {
  WEFT_DEVICE_AS_A_LOOP
  for (int i = s.first; i < s.team.size; ++i) {
    const int rank = wrapped(s.team.rank + i, s.team.size), pe = pe_at(s.team, rank);
    const DeviceContext h = cold;
    copy_slowly(s.who, mapped_on(h, s.dst, heap_of(h, pe), pe),
                s.src + static_cast<std::size_t>(rank) * s.stride, s.bytes);
  }
}

// `bytes` at src to where `dst` is at all members; without `mine_too` not to my own. They are
// loaded once.
template <class Scope>
WEFT_DEVICE void spread(const DirectMember<Scope>& m, std::byte* dst, const std::byte* src,
                        std::size_t bytes, bool mine_too) {
  const int first = mine_too ? 0 : 1;
  if (first == m.size()) return;
  const TileShare<Scope> share(m.scope());
  if (!is_plain(m.handle(), dst, bytes) || !can_tile(dst, src, bytes) || !share.can_copy())
    return by_abi(store_slowly)(m.handle(), {m.team(), m.threads(), dst, src, 0, bytes, first});
  share.for_tiles(static_cast<unsigned>(bytes / 16), [&](std::size_t at, unsigned left) {
    const ChunkTile<TileShare<Scope>::kLanes> tile(src + at, left);
    int i = first;
    WEFT_DEVICE_AS_A_LOOP
    do {
      tile.store(m.there(dst, wrapped(m.rank() + i, m.size())) + at);
    } while (++i < m.size());
  });
}

// Block r of src to rank r, where it becomes block `rank` of dst. A block's warps share out the
// ranks, so that all of a small call is under way at once.
template <class Scope>
WEFT_DEVICE void deal(const DirectMember<Scope>& m, std::byte* dst, const std::byte* src,
                      std::size_t bytes) {
  std::byte* const to = dst + static_cast<std::size_t>(m.rank()) * bytes;
  TileShare<Scope> share(m.scope());
  if (!is_plain(m.handle(), to, bytes) || !can_tile(to, src, bytes) || !share.can_copy())
    return by_abi(store_slowly)(m.handle(), {m.team(), m.threads(), to, src, bytes, bytes, 0});
  int first = 0, step = 1;
  if (share.step >= m.size()) {  // a warp for each
    first = share.tile % m.size();
    step = m.size();
    share.tile /= m.size();
    share.step = (share.step - first + m.size() - 1) / m.size();
  }
  WEFT_DEVICE_AS_A_LOOP
  for (int i = first; i < m.size(); i += step) {
    const int rank = wrapped(m.rank() + i, m.size());
    copy_tiles(share, m.there(to, rank), src + static_cast<std::size_t>(rank) * bytes,
               static_cast<unsigned>(bytes / 16));
  }
}

// From the rank `first` ones on from mine.
WEFT_DEVICE_COLD void fetch_slowly(ByValue<ColdContext> cold, const Stores& s) {
  const DeviceContext h = cold;
  const int pe = pe_at(s.team, wrapped(s.team.rank + s.first, s.team.size));
  copy_slowly(s.who, s.dst, mapped_on(h, s.src, heap_of(h, pe), pe), s.bytes);
}
// `bytes` that a member has at src to my dst.
template <class Scope>
WEFT_DEVICE void fetch(const DirectMember<Scope>& m, std::byte* dst, const std::byte* src,
                       std::size_t bytes, int from) {
  const TileShare<Scope> share(m.scope());
  if (is_plain(m.handle(), src, bytes) && can_tile(dst, src, bytes) && share.can_copy())
    return copy_tiles(share, dst, m.there(src, from), static_cast<unsigned>(bytes / 16));
  const int ahead = wrapped(from - m.rank() + m.size(), m.size());
  by_abi(fetch_slowly)(m.handle(), {m.team(), m.threads(), dst, src, 0, bytes, ahead});
}

// The threads have arrived, and the call has begun. False: the team has failed.
template <class Scope>
WEFT_DEVICE bool begin_direct(DirectMember<Scope>& m, bool tells) {
  m.scope().sync();
  if (tells) m.tell();
  m.read();
  return !m.broken();
}
template <class Scope>
WEFT_DEVICE bool all_hear(const DirectMember<Scope>& m) {
  return agree(m.scope(), m.block(), m.hear());
}

template <class Scope, class Store>
WEFT_DEVICE bool exchange_direct(DirectMember<Scope>& m, Store store) {
  if (!begin_direct(m, true) || !all_hear(m)) return false;
  store();
  m.read();          // once more, rather than keep it
  m.scope().sync();  // all have stored, and read
  m.tell();
  m.next();
  if (m.scope().rank() == 0) m.put_back(true);
  return all_hear(m);
}

template <class Scope>
WEFT_DEVICE bool fcollect_direct(DirectMember<Scope>& m, const Buffers& b) {
  return exchange_direct(m, [&] {
    spread(m, b.dst + static_cast<std::size_t>(m.rank()) * b.bytes, b.src, b.bytes, true);
  });
}

template <class Scope>
WEFT_DEVICE bool alltoall_direct(DirectMember<Scope>& m, const Buffers& b) {
  return exchange_direct(m, [&] { deal(m, b.dst, b.src, b.bytes); });
}

// A block stores some 100 bytes a ns, whomever they are for, so what goes to many is better read by
// each; a thread or a warp rather waits for what it reads.
inline constexpr std::size_t kMostSpread = 65536;  // bytes, to all but one

// The part that a member folds: of a reduce, which all get, or of a reducescatter, which it keeps.
struct FoldedPart {
  std::byte* dst;        // here
  const std::byte* src;  // of each member, as it lies here
  std::size_t bytes;
  bool for_all;
};

// A thread's chunks of a message, as far apart as there are threads, one after the other: to work
// out where all of them are would take registers for each.
class ChunkWalk {
 public:
  using Unit = Chunk<16>::type;

  // `left`: chunks from the one at `at` on, 1 at least.
  WEFT_DEVICE ChunkWalk(const std::byte* at, unsigned left)
      : at_(const_cast<std::byte*>(at)), left_(left) {
    platform::settle(left_);
  }
  WEFT_DEVICE void next(unsigned step) {
    at_ += step * static_cast<unsigned>(sizeof(Unit));
    platform::settle(at_);
    left_ -= step < left_ ? step : left_;
  }
  WEFT_DEVICE bool has_more() const { return left_ != 0; }
  WEFT_DEVICE Unit load() const { return *reinterpret_cast<const Unit*>(at_); }
  WEFT_DEVICE void store(Unit chunk) const { *reinterpret_cast<Unit*>(at_) = chunk; }

 private:
  std::byte* at_;
  unsigned left_;
};

template <class Fold>
WEFT_DEVICE Chunk<16>::type folded(const Fold& fold, Chunk<16>::type a, Chunk<16>::type b) {
  return {fold.unit(a.x, b.x), fold.unit(a.y, b.y)};
}
// To whoever gets them, `offset` bytes behind dst; `left`: chunks from there on.
template <int kChunks, class Scope>
WEFT_DEVICE void store_sums(const DirectMember<Scope>& m, const FoldedPart& part,
                            std::size_t offset, unsigned left,
                            const Chunk<16>::type (&sums)[kChunks]) {
  const auto step = static_cast<unsigned>(m.scope().size());
  WEFT_DEVICE_AS_A_LOOP
  for (int i = 0; i < (part.for_all ? m.size() : 1); ++i) {
    ChunkWalk to(m.there(part.dst, wrapped(m.rank() + i, m.size())) + offset, left);
    to.store(sums[0]);
    for (int c = 1; c < kChunks; ++c) {
      to.next(step);
      if (to.has_more()) to.store(sums[c]);
    }
  }
}

// One chunk of all members, in the order of their ranks; got: the others'.
template <int kOthers, class Fold>
WEFT_DEVICE Chunk<16>::type fold_in_order(const Team& team, const Fold& fold, Chunk<16>::type own,
                                          const Chunk<16>::type (&got)[kOthers]) {
  Chunk<16>::type sum = team.rank == 0 ? own : got[0];
  for (int k = 1; k <= kOthers; ++k) {  // what is of rank k
    const Chunk<16>::type next = team.rank < k    ? got[k - 1]
                                 : team.rank == k ? own
                                                  : got[k % kOthers];
    if (k < team.size) sum = folded(fold, sum, next);
  }
  return sum;
}
// Chunks of all members, of which there are at most kOthers besides me, and kOthers > 0. kChunks of
// each other one are under way at once; mine are near.
template <int kChunks, int kOthers, class Scope, class Fold>
WEFT_DEVICE void fold_few(const DirectMember<Scope>& m, const FoldedPart& part, const Fold& fold) {
  using Unit = Chunk<16>::type;
  constexpr int kNear = 2;  // of mine at once
  static_assert(kChunks % kNear == 0);
  const auto chunks = static_cast<unsigned>(part.bytes / sizeof(Unit));
  const auto step = static_cast<unsigned>(m.scope().size());
  WEFT_DEVICE_AS_A_LOOP
  for (auto at = static_cast<unsigned>(m.scope().rank()); at < chunks; at += kChunks * step) {
    const std::size_t offset = at * sizeof(Unit);
    Unit got[kChunks][kOthers] = {};
    for (int k = 0; k < kOthers; ++k) {
      int rank = k < m.rank() ? k : k + 1;
      if (rank >= m.size()) break;
      platform::settle(rank);  // or there were registers for where each rank's src is
      ChunkWalk from(m.there(part.src, rank) + offset, chunks - at);
      got[0][k] = from.load();
      for (int c = 1; c < kChunks; ++c) {
        from.next(step);
        if (from.has_more()) got[c][k] = from.load();
      }
    }
    Unit sums[kChunks] = {};
    ChunkWalk mine(part.src + offset, chunks - at);
    for (int c = 0; c < kChunks; c += kNear) {
      Unit own[kNear] = {};
      for (int k = 0; k < kNear; ++k, mine.next(step))
        if (mine.has_more()) own[k] = mine.load();
      for (int k = 0; k < kNear; ++k)
        sums[c + k] = fold_in_order(m.team(), fold, own[k], got[c + k]);
    }
    store_sums(m, part, offset, chunks - at, sums);
  }
}
// The same of any number, some at a time.
template <class Scope, class Fold>
WEFT_DEVICE void fold_many(const DirectMember<Scope>& m, const FoldedPart& part, const Fold& fold) {
  using Unit = Chunk<16>::type;
  constexpr int kRanks = 4;
  const int n = m.size();
  const auto chunks = static_cast<unsigned>(part.bytes / sizeof(Unit));
  const auto step = static_cast<unsigned>(m.scope().size());
  WEFT_DEVICE_AS_A_LOOP
  for (auto at = static_cast<unsigned>(m.scope().rank()); at < chunks; at += step) {
    const std::size_t offset = at * sizeof(Unit);
    Unit sums[1] = {};
    WEFT_DEVICE_AS_A_LOOP
    for (int first = 0; first < n; first += kRanks) {
      Unit got[kRanks];
      for (int k = 0; k < kRanks; ++k)  // the first once more rather than under a condition
        got[k] = *reinterpret_cast<const Unit*>(
            m.there(part.src, first + k < n ? first + k : first) + offset);
      for (int k = 0; k < kRanks && first + k < n; ++k)
        sums[0] = first + k == 0 ? got[k] : folded(fold, sums[0], got[k]);
    }
    store_sums(m, part, offset, chunks - at, sums);
  }
}
template <class Scope, class Fold>
WEFT_DEVICE void fold_chunks(const DirectMember<Scope>& m, const FoldedPart& part,
                             const Fold& fold) {
  // A thread waits for each of its trips; of many threads others go on meanwhile.
  if (m.size() == 2) return fold_few < std::is_same_v<Scope, Thread> ? 6 : 4, 1 > (m, part, fold);
  if (m.size() == 3 || m.size() == 4) return fold_few<2, 3>(m, part, fold);
  fold_many(m, part, fold);
}
// The same of what is not plain, or not in chunks, to my dst.
WEFT_DEVICE_COLD void fold_slowly(ByValue<ColdContext> cold, const Stores& s,
                                  const ErasedFold& fold) {
  const auto source = [&](int rank) {
    const DeviceContext h = cold;
    const int pe = pe_at(s.team, rank);
    return mapped_on(h, s.src, heap_of(h, pe), pe);
  };
  fold.fold(s.who, s.dst, source, s.team.size, s.bytes / fold.element);
}

// A reduce or a reducescatter. In place: a part of anybody's src is read by who folds it alone,
// before that writes there.
template <class Scope, class Fold>
WEFT_DEVICE bool fold_direct(DirectMember<Scope>& m, Folding what, const Buffers& b,
                             const Fold& fold) {
  const bool for_all = what == Folding::kReduce;
  const Share mine = for_all ? share_of(b.bytes, m.size(), m.rank())
                             : Share{static_cast<std::size_t>(m.rank()) * b.bytes, b.bytes};
  const FoldedPart part{b.dst + (for_all ? mine.offset : 0), b.src + mine.offset, mine.bytes,
                        for_all};
  platform::lies_in_memory(part);
  return exchange_direct(m, [&] {
    if (is_plain(m.handle(), part.src, part.bytes) && is_plain(m.handle(), part.dst, part.bytes) &&
        can_tile(part.dst, part.src, part.bytes))
      return fold_chunks(m, part, fold);
    by_abi(fold_slowly)(m.handle(), {m.team(), m.threads(), part.dst, part.src, 0, part.bytes, 0},
                        erased(fold));
    if (!for_all) return;
    m.scope().sync();  // others of my threads wrote what I store
    by_abi(store_slowly)(m.handle(), {m.team(), m.threads(), part.dst, part.dst, 0, part.bytes, 1});
  });
}

// Without `root_too` the root's dst stays as it is.
template <class Scope>
WEFT_DEVICE bool broadcast_direct(DirectMember<Scope>& m, const Buffers& b, int root,
                                  bool root_too = true) {
  const bool mine = m.rank() == root;
  const bool mine_too = root_too && b.dst != b.src;
  const bool pulled = is_block<Scope> && m.size() > 2 &&
                      b.bytes * static_cast<std::size_t>(m.size() - 2) > kMostSpread;
  if (!begin_direct(m, mine == pulled)) return false;
  bool ok = true;
  if (mine)
    ok = m.hear();
  else if (m.scope().rank() == 0)
    ok = m.hear_from(root);
  if (!agree(m.scope(), m.block(), ok)) return false;
  if (mine && !pulled)
    spread(m, b.dst, b.src, b.bytes, mine_too);
  else if (pulled && (!mine || mine_too))
    fetch(m, b.dst, b.src, b.bytes, root);
  if (mine || pulled)
    m.scope().sync();  // all have stored: a member its dst, or the root the others'
  if (mine != pulled) m.tell();
  if (m.scope().rank() == 0) m.put_back(!pulled);
  return true;
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
