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
WEFT_DEVICE bool broadcast_small(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes,
                                 int root, bool root_too) {
  const int n = m.size();
  const int v = wrapped(m.rank() - root + n, n);
  const bool flat = n <= kFlatBroadcast;
  // What the root would have to push several times is read from its own slot: nobody else writes
  // there, and the root not before all have read, as with any slot.
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
template <class Member>
WEFT_DEVICE bool broadcast_large(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes,
                                 int root, bool root_too) {
  const int n = m.size();
  auto share = [&](int rank) { return share_of(bytes, n - 1, wrapped(rank - root + n, n) - 1); };
  if (!m.sync() || !m.begin()) return false;
  if (m.rank() == root) {
    m.for_peers(0, n, bytes, [&](auto caller, int to) {
      const Share part = share(to);
      if (part.bytes > 0) m.send(caller, to, dst + part.offset, src + part.offset, part.bytes);
    });
    if (dst != src && root_too) m.port().copy(m.scope(), dst, src, bytes);
    return true;
  }
  const Share mine = share(m.rank());
  if (mine.bytes > 0) {
    if (!m.arrived(root)) return false;
    m.for_peers(0, n, bytes, [&](auto caller, int to) {
      if (to != root) m.send(caller, to, dst + mine.offset, dst + mine.offset, mine.bytes);
    });
  }
  return m.all_arrived(0, n, [&](int from) { return from != root && share(from).bytes > 0; });
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

// The same as exchange(), read by the receivers: what `from` has for me lies where
// block_for(rank()) is here. Each byte crosses once, and ends in the cache of the PE that wants it.
template <class Member, class BlockFor>
WEFT_DEVICE bool exchange_pulled(Member& m, std::byte* dst, std::size_t bytes, BlockFor block_for) {
  const int n = m.size();
  const std::byte* mine = block_for(m.rank());
  if (!m.begin()) return false;
  m.announce();  // my src is ready
  auto read = [&](int from, const std::byte* block) {
    m.port().copy(m.scope(), dst + static_cast<std::size_t>(from) * bytes, block, bytes);
  };
  read(m.rank(), mine);
  for (int i = 1; i < n; ++i) {
    const int from = wrapped(m.rank() + i, n);
    if (!m.announced(from)) return false;
    read(from, m.port().direct(mine, m.pe(from)));
  }
  m.end_all();
  if (!m.begin()) return false;
  m.announce();  // all my threads have read
  for (int from = 0; from < n; ++from)
    if (from != m.rank() && !m.announced(from)) return false;
  m.end_all();
  return true;
}

// Everybody sends everybody `bytes`: rank r gets block_for(r), which becomes its block of my rank.
template <class Member, class BlockFor>
WEFT_DEVICE bool exchange(Member& m, std::byte* dst, std::size_t bytes, BlockFor block_for) {
  if (m.port().pulls(bytes)) return exchange_pulled(m, dst, bytes, block_for);
  const int n = m.size();
  const bool small = bytes <= m.payload_bytes();
  if (!small && !m.sync()) return false;
  if (!m.begin()) return false;
  auto block_of = [&](int rank) { return dst + static_cast<std::size_t>(rank) * bytes; };
  m.for_peers(0, n, bytes, [&](auto caller, int to) {
    m.send(caller, to, small ? m.payload(m.rank()) : block_of(m.rank()), block_for(to), bytes);
  });
  m.port().copy(m.scope(), block_of(m.rank()), block_for(m.rank()), bytes);
  if (!m.all_arrived(0, n)) return false;
  m.end_all();
  if (small)
    for (int from = 0; from < n; ++from)
      if (from != m.rank()) m.port().copy(m.scope(), block_of(from), m.payload(from), bytes);
  return true;
}

template <class Member>
WEFT_DEVICE bool fcollect(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  if (m.spans_hosts()) return fcollect_by_hosts(m, dst, src, bytes);
  return exchange(m, dst, bytes, [&](int) { return src; });
}

template <class Member>
WEFT_DEVICE bool alltoall(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  return exchange(m, dst, bytes,
                  [&](int to) { return src + static_cast<std::size_t>(to) * bytes; });
}

// A message starts with the sender's size; data that fits behind it comes along. The sizes tell
// everybody where each block goes, so larger blocks follow straight into dst in a second exchange;
// that all have sent their size says that every dst is ready.
template <class Member>
WEFT_DEVICE bool collect(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes) {
  const int n = m.size();
  const std::size_t room = m.payload_bytes() - sizeof(std::uint64_t);
  auto& port = m.port();
  if (!m.begin()) return false;

  std::byte* message = m.work(0);
  if (m.scope().rank() == 0) *reinterpret_cast<std::uint64_t*>(message) = bytes;
  const std::size_t along = bytes <= room ? bytes : 0;
  port.copy(m.scope(), message + sizeof(std::uint64_t), src, along);
  m.scope().sync();
  const std::size_t message_bytes = sizeof(std::uint64_t) + along;
  m.for_peers(0, n, message_bytes, [&](auto caller, int to) {
    m.send(caller, to, m.payload(m.rank()), message, message_bytes);
  });
  if (!m.all_arrived(0, n)) return false;
  m.end_all();

  auto bytes_of_rank = [&, first = m.payload(0), step = m.payload(1) - m.payload(0)](int rank) {
    if (rank == m.rank()) return bytes;
    return static_cast<std::size_t>(*reinterpret_cast<const std::uint64_t*>(first + rank * step));
  };
  std::size_t total = 0, my_offset = 0;
  bool second = false;
  for (int rank = 0; rank < n; ++rank) {
    const std::size_t its = bytes_of_rank(rank);
    if (rank == m.rank()) my_offset = total;
    if (its > kTooManyBytes - total) return port.fits(dst, kTooManyBytes);
    total += its;
    second = second || its > room;
  }
  if (!port.fits(dst, total)) return false;
  std::size_t offset = 0;
  for (int rank = 0; rank < n; ++rank) {
    const std::size_t its = bytes_of_rank(rank);
    const std::byte* block = m.payload(rank) + sizeof(std::uint64_t);
    if (rank == m.rank())
      port.copy(m.scope(), dst + offset, src, bytes);
    else if (its <= room)
      port.copy(m.scope(), dst + offset, block, its);
    offset += its;
  }
  if (!second) return true;

  // The slots of the first exchange stay as they are until four exchanges on.
  if (!m.begin()) return false;
  if (bytes > room)
    m.for_peers(0, n, bytes,
                [&](auto caller, int to) { m.send(caller, to, dst + my_offset, src, bytes); });
  return m.all_arrived(0, n, [&](int from) { return bytes_of_rank(from) > room; });
}

// Bytes [first, first + bytes) of the stream of `element`-byte elements that lie `stride` bytes
// apart from `strided` on: visit(strided piece, offset in the stream from `first`, bytes).
template <class Scope, class Visit>
WEFT_DEVICE void for_pieces(const Scope& scope, std::size_t stride, std::size_t element,
                            std::size_t first, std::size_t bytes, Visit visit) {
  if (bytes == 0) return;
  const std::size_t end = first + bytes;
  const auto step = static_cast<std::size_t>(scope.size());
  for (std::size_t e = first / element + static_cast<std::size_t>(scope.rank()); e * element < end;
       e += step) {
    const std::size_t from = e * element < first ? first : e * element;
    const std::size_t to = (e + 1) * element < end ? (e + 1) * element : end;
    visit(e * stride + (from - e * element), from - first, to - from);
  }
}

// Strided blocks go packed, slot by slot, however many exchanges it takes. Strides are in bytes,
// the same on all members, as all that decides which way a call goes.
template <class Member>
WEFT_DEVICE bool alltoalls(Member& m, std::byte* dst, const std::byte* src, std::size_t dst_stride,
                           std::size_t src_stride, std::size_t element, std::size_t count) {
  using Thread = typename Member::Thread;
  const int n = m.size();
  const std::size_t bytes = element * count;
  if (dst_stride == element && src_stride == element) return alltoall(m, dst, src, bytes);
  const std::size_t room = m.payload_bytes();
  const std::size_t piece = element <= room ? room / element * element : room;
  auto& port = m.port();
  auto src_block = [&](int to) { return src + static_cast<std::size_t>(to) * count * src_stride; };
  auto dst_block = [&](int of) { return dst + static_cast<std::size_t>(of) * count * dst_stride; };

  for (std::size_t first = 0; first == 0 || first < bytes; first += piece) {
    const std::size_t now = bytes - first < piece ? bytes - first : piece;
    if (!m.begin()) return false;
    m.for_peers(0, n, kTooManyBytes, [&](auto caller, int to) {
      for_pieces(m.scope(), src_stride, element, first, now,
                 [&](std::size_t at, std::size_t packed, std::size_t length) {
                   port.copy(Thread{}, m.work(0) + packed, src_block(to) + at, length);
                 });
      m.send(caller, to, m.payload(m.rank()), m.work(0), now);
    });
    if (!m.all_arrived(0, n)) return false;
    m.end_all();
    for (int from = 0; from < n; ++from)
      if (from != m.rank())
        for_pieces(m.scope(), dst_stride, element, first, now,
                   [&](std::size_t at, std::size_t packed, std::size_t length) {
                     port.copy(Thread{}, dst_block(from) + at, m.payload(from) + packed, length);
                   });
  }
  const std::byte* mine = src_block(m.rank());
  for_pieces(
      m.scope(), 1, element, 0, bytes, [&](std::size_t, std::size_t packed, std::size_t length) {
        const std::size_t e = packed / element;
        port.copy(Thread{}, dst_block(m.rank()) + e * dst_stride, mine + e * src_stride, length);
      });
  return true;
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
