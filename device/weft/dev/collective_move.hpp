// Collectives that move bytes: broadcast, fcollect, collect, alltoall, alltoalls.
//
// Small messages go through the receiver's slots: one message each, no wait before sending. Large
// ones go straight to `dst`, after a sync: a member's dst is not written before it has made the
// call; or the receiver reads them where they lie, if the Port says that it pays. Either way every
// member takes the same branch, since all give the same sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/types.hpp>

#include <weft/dev/collective_hosts.hpp>
#include <weft/dev/team_member.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

template <class Member>
WEFT_DEVICE_CALLED bool broadcast_small(Member& m, std::byte* dst, const std::byte* src,
                                        std::size_t bytes, int root, bool root_too) {
  const int n = m.size();
  const int v = wrapped(m.rank() - root + n, n);
  const bool flat = n <= kFlatBroadcast;
  // Bytes that the root would have to push several times are read from its own slot: nobody else
  // writes there, and the root not before all have read, as with any slot.
  const bool pulled = flat && n > 1 && m.port().pulls(bytes * static_cast<std::size_t>(n - 1));
  if (!m.begin()) return false;
  if (v != 0) {
    const int parent = flat ? root : wrapped(tree_parent(v) + root, n);
    if (pulled ? !m.announced(root) : !m.arrived(parent)) return false;
    src = pulled ? m.port().direct(m.payload(root), m.pe(root)) : m.payload(parent);
  }
  auto pass_on = [&](auto caller, int to) { m.send(caller, to, m.payload(m.rank()), src, bytes); };
  if (pulled && v == 0) {
    m.port().copy(m.scope(), m.payload(root), src, bytes);
    m.announce();
  } else if (flat && v == 0) {
    m.for_peers(0, n, bytes, pass_on);
  }
  if (!flat)
    for (int reach = tree_reach(v, n); reach > 0; reach /= 2)
      if (v + reach < n) pass_on(m.scope(), wrapped(v + reach + root, n));
  if (dst != src && (v != 0 || root_too)) m.port().copy(m.scope(), dst, src, bytes);
  return true;
}

// Scatter, then allgather: the root sends each other member one share, and each passes its share on
// to all the others, so that no PE sends more than about twice the data.
struct Scattered {
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  int root, n;

  WEFT_DEVICE Share share(int rank) const {
    return share_of(bytes, n - 1, wrapped(rank - root + n, n) - 1);
  }
};
template <class Member>
WEFT_DEVICE_CALLED void send_shares(Member& m, const Scattered& s) {
  m.for_peers(0, s.n, s.bytes, [&](auto caller, int to) {
    const Share part = s.share(to);
    if (part.bytes > 0) m.send(caller, to, s.dst + part.offset, s.src + part.offset, part.bytes);
  });
}
template <class Member>
WEFT_DEVICE_CALLED bool pass_share_on(Member& m, const Scattered& s) {
  const Share mine = s.share(m.rank());
  if (mine.bytes > 0) {
    if (!m.arrived(s.root)) return false;
    std::byte* const part = s.dst + mine.offset;
    m.for_peers(0, s.n, s.bytes, [&](auto caller, int to) {
      if (to != s.root) m.send(caller, to, part, part, mine.bytes);
    });
  }
  return m.all_arrived(0, s.n, [&](int from) { return from != s.root && s.share(from).bytes > 0; });
}
template <class Member>
WEFT_DEVICE bool broadcast_large(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes,
                                 int root, bool root_too) {
  const Scattered s{dst, src, bytes, root, m.size()};
  if (!m.sync() || !m.begin()) return false;
  if (m.rank() != root) return pass_share_on(m, s);
  send_shares(m, s);
  if (dst != src && root_too) m.port().copy(m.scope(), dst, src, bytes);
  return true;
}

// Without `root_too` the root's dst stays as it is.
template <class Member>
WEFT_DEVICE bool broadcast(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes,
                           int root, bool root_too = true) {
  const bool small = bytes <= m.payload_bytes() || m.size() == 1;
  if (m.spans_hosts())
    return small ? broadcast_small_by_hosts(m, dst, src, bytes, root, root_too)
                 : broadcast_large_by_hosts(m, dst, src, bytes, root, root_too);
  return small ? broadcast_small(m, dst, src, bytes, root, root_too)
               : broadcast_large(m, dst, src, bytes, root, root_too);
}

// An exchange of blocks between all members: `bytes` for each rank, `stride` apart; 0 where all get
// the same. Block r of dst is rank r's.
struct Exchanged {
  std::byte* dst;
  const std::byte* src;
  std::size_t stride, bytes;

  WEFT_DEVICE const std::byte* block_for(int rank) const {
    return src + static_cast<std::size_t>(rank) * stride;
  }
  WEFT_DEVICE std::byte* block_of(int rank) const {
    return dst + static_cast<std::size_t>(rank) * bytes;
  }
};

// The same as exchange(), read by the receivers: what `from` has for me lies where
// block_for(rank()) is here. Each byte crosses once, and ends in the cache of the PE that wants it.
template <class Member>
WEFT_DEVICE_CALLED bool exchange_pulled(Member& m, const Exchanged& e) {
  const int n = m.size();
  const std::byte* mine = e.block_for(m.rank());
  if (!m.begin()) return false;
  m.announce();  // my src is ready
  m.port().copy(m.scope(), e.block_of(m.rank()), mine, e.bytes);
  WEFT_DEVICE_AS_A_LOOP
  for (int i = 1; i < n; ++i) {
    const int from = wrapped(m.rank() + i, n);
    if (!m.announced(from)) return false;
    m.port().copy(m.scope(), e.block_of(from), m.port().direct(mine, m.pe(from)), e.bytes);
  }
  m.end_all();
  if (!m.begin()) return false;
  m.announce();  // all my threads have read
  WEFT_DEVICE_AS_A_LOOP
  for (int from = 0; from < n; ++from)
    if (from != m.rank() && !m.announced(from)) return false;
  m.end_all();
  return true;
}

// Everybody sends everybody `bytes`.
template <class Member>
WEFT_DEVICE_CALLED bool exchange_pushed(Member& m, const Exchanged& e) {
  const bool small = e.bytes <= m.payload_bytes();
  if (!small && !m.sync()) return false;
  if (!m.begin()) return false;
  m.for_peers(0, m.size(), e.bytes, [&](auto caller, int to) {
    m.send(caller, to, small ? m.payload(m.rank()) : e.block_of(m.rank()), e.block_for(to),
           e.bytes);
  });
  m.port().copy(m.scope(), e.block_of(m.rank()), e.block_for(m.rank()), e.bytes);
  if (!m.all_arrived(0, m.size())) return false;
  m.end_all();
  WEFT_DEVICE_AS_A_LOOP
  for (int from = 0; small && from < m.size(); ++from)
    if (from != m.rank()) m.port().copy(m.scope(), e.block_of(from), m.payload(from), e.bytes);
  return true;
}
template <class Member>
WEFT_DEVICE bool exchange(Member& m, const Exchanged& e) {
  return m.port().pulls(e.bytes) ? exchange_pulled(m, e) : exchange_pushed(m, e);
}

template <class Member>
WEFT_DEVICE bool fcollect(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  if (m.spans_hosts()) return fcollect_by_hosts(m, dst, src, bytes);
  return exchange(m, {dst, src, 0, bytes});
}

template <class Member>
WEFT_DEVICE bool alltoall(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  return exchange(m, {dst, src, bytes, bytes});
}

// A message starts with the sender's size; data that fits behind it comes along. The sizes tell
// everybody where each block goes, so larger blocks follow straight into dst in a second exchange;
// that all have sent their size says that every dst is ready.
struct Collected {
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;  // of mine
  std::size_t room;   // for data behind a size
  std::size_t my_offset = 0, total = 0;
  bool second = false;  // somebody has more than comes along
  int later = 0;        // exchanges since that of the sizes, whose slots stay until four on
};

template <class Member>
WEFT_DEVICE std::size_t collected_bytes(const Member& m, const Collected& c, int rank) {
  if (rank == m.rank()) return c.bytes;
  return static_cast<std::size_t>(
      *reinterpret_cast<const std::uint64_t*>(m.payload(-c.later, rank)));
}
template <class Member>
WEFT_DEVICE_CALLED bool exchange_sizes(Member& m, const Collected& c) {
  if (!m.begin()) return false;
  std::byte* const message = m.work(0);
  if (m.scope().rank() == 0) *reinterpret_cast<std::uint64_t*>(message) = c.bytes;
  const std::size_t along = c.bytes <= c.room ? c.bytes : 0;
  m.port().copy(m.scope(), message + sizeof(std::uint64_t), c.src, along);
  m.scope().sync();
  m.for_peers(0, m.size(), sizeof(std::uint64_t) + along, [&](auto caller, int to) {
    m.send(caller, to, m.payload(m.rank()), message, sizeof(std::uint64_t) + along);
  });
  if (!m.all_arrived(0, m.size())) return false;
  m.end_all();
  return true;
}
// False: the sizes do not add up.
template <class Member>
WEFT_DEVICE_CALLED bool add_sizes(const Member& m, Collected& c) {
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 0; rank < m.size(); ++rank) {
    const std::size_t its = collected_bytes(m, c, rank);
    if (rank == m.rank()) c.my_offset = c.total;
    if (its > kTooManyBytes - c.total) return false;
    c.total += its;
    c.second = c.second || its > c.room;
  }
  return true;
}
template <class Member>
WEFT_DEVICE_CALLED void store_collected(const Member& m, const Collected& c) {
  std::byte* to = c.dst;
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 0; rank < m.size(); ++rank) {
    const std::size_t its = collected_bytes(m, c, rank);
    const bool mine = rank == m.rank();
    if (mine || its <= c.room)
      m.port().copy(m.scope(), to, mine ? c.src : m.payload(rank) + sizeof(std::uint64_t), its);
    to += its;
  }
}
template <class Member>
WEFT_DEVICE bool collect(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  Collected c{dst, src, bytes, m.payload_bytes() - sizeof(std::uint64_t)};
  if (!exchange_sizes(m, c)) return false;
  const bool adds_up = add_sizes(m, c);
  if (!m.port().fits(dst, adds_up ? c.total : kTooManyBytes)) return false;
  store_collected(m, c);
  if (!c.second) return true;

  if (!m.begin()) return false;
  c.later = 1;
  if (bytes > c.room)
    m.for_peers(0, m.size(), bytes,
                [&](auto caller, int to) { m.send(caller, to, dst + c.my_offset, src, bytes); });
  return m.all_arrived(0, m.size(), [&](int from) { return collected_bytes(m, c, from) > c.room; });
}

// Bytes [first, first + bytes) of the stream of `element`-byte elements that lie `stride` bytes
// apart from `strided` on: visit(strided piece, offset in the stream from `first`, bytes).
template <class Scope, class Visit>
WEFT_DEVICE void for_pieces(const Scope& scope, std::size_t stride, std::size_t element,
                            std::size_t first, std::size_t bytes, Visit visit) {
  if (bytes == 0) return;
  const std::size_t end = first + bytes;
  const auto step = static_cast<std::size_t>(scope.size());
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t e = first / element + static_cast<std::size_t>(scope.rank()); e * element < end;
       e += step) {
    const std::size_t from = e * element < first ? first : e * element;
    const std::size_t to = (e + 1) * element < end ? (e + 1) * element : end;
    visit(e * stride + (from - e * element), from - first, to - from);
  }
}

// Strided blocks go packed, slot by slot, however many exchanges it takes. Strides are in bytes,
// the same on all members, as all that decides which way a call goes.
struct Strided {
  std::byte* dst;
  const std::byte* src;
  std::size_t dst_stride, src_stride, element, count;

  WEFT_DEVICE const std::byte* src_block(int to) const {
    return src + static_cast<std::size_t>(to) * count * src_stride;
  }
  WEFT_DEVICE std::byte* dst_block(int of) const {
    return dst + static_cast<std::size_t>(of) * count * dst_stride;
  }
};

// The `bytes` from `first` on of a block to work(0), where they are packed.
template <class Member>
WEFT_DEVICE_CALLED void pack_strided(const Member& m, const Strided& s, int to, std::size_t first,
                                     std::size_t bytes) {
  using Thread = typename Member::Thread;
  for_pieces(m.scope(), s.src_stride, s.element, first, bytes,
             [&](std::size_t at, std::size_t packed, std::size_t length) {
               m.port().copy(Thread{}, m.work(0) + packed, s.src_block(to) + at, length);
             });
}
template <class Member>
WEFT_DEVICE_CALLED void store_strided(const Member& m, const Strided& s, std::size_t first,
                                      std::size_t bytes) {
  using Thread = typename Member::Thread;
  WEFT_DEVICE_AS_A_LOOP
  for (int from = 0; from < m.size(); ++from) {
    if (from == m.rank()) continue;
    for_pieces(m.scope(), s.dst_stride, s.element, first, bytes,
               [&](std::size_t at, std::size_t packed, std::size_t length) {
                 m.port().copy(Thread{}, s.dst_block(from) + at, m.payload(from) + packed, length);
               });
  }
}
// `bytes` from `first` on of all blocks, into slots.
template <class Member>
WEFT_DEVICE_CALLED bool exchange_strided(Member& m, const Strided& s, std::size_t first,
                                         std::size_t bytes) {
  if (!m.begin()) return false;
  m.for_peers(0, m.size(), kTooManyBytes, [&](auto caller, int to) {
    pack_strided(m, s, to, first, bytes);
    m.send(caller, to, m.payload(m.rank()), m.work(0), bytes);
  });
  if (!m.all_arrived(0, m.size())) return false;
  m.end_all();
  return true;
}
// My own block.
template <class Member>
WEFT_DEVICE_CALLED void copy_strided(const Member& m, const Strided& s) {
  using Thread = typename Member::Thread;
  WEFT_DEVICE_AS_A_LOOP
  for (auto e = static_cast<std::size_t>(m.scope().rank()); e < s.count;
       e += static_cast<std::size_t>(m.scope().size()))
    m.port().copy(Thread{}, s.dst_block(m.rank()) + e * s.dst_stride,
                  s.src_block(m.rank()) + e * s.src_stride, s.element);
}

template <class Member>
WEFT_DEVICE bool alltoalls(Member& m, const Strided& s) {
  const std::size_t bytes = s.element * s.count;
  if (s.dst_stride == s.element && s.src_stride == s.element)
    return alltoall(m, s.dst, s.src, bytes);
  const std::size_t room = m.payload_bytes();
  const std::size_t piece = s.element <= room ? room / s.element * s.element : room;
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t first = 0; first == 0 || first < bytes; first += piece) {
    const std::size_t now = bytes - first < piece ? bytes - first : piece;
    if (!exchange_strided(m, s, first, now)) return false;
    store_strided(m, s, first, now);
  }
  copy_strided(m, s);
  return true;
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
