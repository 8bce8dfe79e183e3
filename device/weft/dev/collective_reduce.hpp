// Collectives that compute: reduce, reducescatter, scans. Folds run in rank order, always.
//
// The Fold says what is computed:
//   element                                bytes of one element, a power of two of at most 64
//   fold(scope, dst, source, n, count)     dst[i] = source(0)[i] op ... op source(n-1)[i], n >= 1;
//                                          dst may be one of the sources; no sync of the scope
//   fill(scope, dst, count)                the operator's identity
//   kPacks, unit(a, b)                     elements fit in the 8 bytes of a packed unit; a op b of
//                                          those in two of them
//
// dst == src is allowed everywhere; each algorithm says why that is safe in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/reduce_op.hpp>
#include <weft/types.hpp>

#include <weft/dev/collective_hosts.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/team_member.hpp>

namespace weft::dev {

enum class Folding : std::uint8_t { kReduce, kReduceScatter, kScanInclusive, kScanExclusive };
WEFT_HOST_DEVICE constexpr bool is_scan(Folding what) { return what >= Folding::kScanInclusive; }

inline namespace WEFT_TARGET {
namespace coll {

// a op b. Integers wrap around: computed unsigned, since overflow of signed ones is undefined.
template <ReduceOp kOp, class T>
WEFT_HOST_DEVICE constexpr T combine(T a, T b) {
  if constexpr (SmallFloat<T>::value) {
    using Small = SmallFloat<T>;
    return Small::narrow(combine<kOp>(Small::widen(a), Small::widen(b)));
  } else if constexpr (kOp == ReduceOp::kMin) {
    return b < a ? b : a;
  } else if constexpr (kOp == ReduceOp::kMax) {
    return a < b ? b : a;
  } else if constexpr (!std::is_integral_v<T>) {
    static_assert(kOp == ReduceOp::kSum || kOp == ReduceOp::kProd, "and, or, xor take integers");
    return kOp == ReduceOp::kSum ? a + b : a * b;
  } else {
    using Unsigned =
        std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
    const auto x = static_cast<Unsigned>(a);
    const auto y = static_cast<Unsigned>(b);
    switch (kOp) {
      case ReduceOp::kSum: return static_cast<T>(x + y);
      case ReduceOp::kProd: return static_cast<T>(x * y);
      case ReduceOp::kAnd: return static_cast<T>(x & y);
      case ReduceOp::kOr: return static_cast<T>(x | y);
      default: return static_cast<T>(x ^ y);
    }
  }
}

// e such that combine(e, x) == x. Written out, since NVRTC has neither std::numeric_limits nor a
// builtin for infinity.
template <ReduceOp kOp, class T>
WEFT_HOST_DEVICE T identity() {
  if constexpr (SmallFloat<T>::value) {
    return SmallFloat<T>::narrow(identity<kOp, float>());
  } else if constexpr (kOp == ReduceOp::kProd) {
    return T{1};
  } else if constexpr (kOp == ReduceOp::kAnd) {
    return static_cast<T>(~T{0});
  } else if constexpr (kOp != ReduceOp::kMin && kOp != ReduceOp::kMax) {
    return T{0};
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto infinity = static_cast<T>(detail::bits_as<float>(std::uint32_t{detail::kInfinity}));
    return kOp == ReduceOp::kMin ? infinity : -infinity;
  } else {
    constexpr T kOnes = static_cast<T>(~T{0});
    constexpr T kLargest =
        std::is_signed_v<T>
            ? static_cast<T>(~(static_cast<std::make_unsigned_t<T>>(1) << (8 * sizeof(T) - 1)))
            : kOnes;
    return kOp == ReduceOp::kMin ? kLargest : static_cast<T>(~kLargest);
  }
}

// The Fold of kernels: a thread takes every size()-th element and keeps the sum in a register.
template <class T, ReduceOp kOp>
struct ElementFold {
  static_assert(is_reduce_type<T>, "reductions take integers and floats");
  static_assert(is_bitwise_type<T> ||
                    (kOp != ReduceOp::kAnd && kOp != ReduceOp::kOr && kOp != ReduceOp::kXor),
                "and, or, xor take integers");
  static constexpr std::size_t element = sizeof(T);

  template <class Scope, class Source>
  WEFT_DEVICE void fold(const Scope& scope, std::byte* dst, const Source& source, int n,
                        std::size_t count) const {
    WEFT_DEVICE_AS_A_LOOP
    for (auto i = static_cast<std::size_t>(scope.rank()); i < count;
         i += static_cast<std::size_t>(scope.size())) {
      T sum = reinterpret_cast<const T*>(source(0))[i];
      WEFT_DEVICE_AS_A_LOOP
      for (int rank = 1; rank < n; ++rank)
        sum = combine<kOp>(sum, reinterpret_cast<const T*>(source(rank))[i]);
      reinterpret_cast<T*>(dst)[i] = sum;
    }
  }
  template <class Scope>
  WEFT_DEVICE void fill(const Scope& scope, std::byte* dst, std::size_t count) const {
    WEFT_DEVICE_AS_A_LOOP
    for (auto i = static_cast<std::size_t>(scope.rank()); i < count;
         i += static_cast<std::size_t>(scope.size()))
      reinterpret_cast<T*>(dst)[i] = identity<kOp, T>();
  }

  static constexpr bool kPacks = sizeof(T) <= kPackedUnit;
  WEFT_DEVICE std::uint64_t unit(std::uint64_t a, std::uint64_t b) const {
    T sums[kPackedUnit / sizeof(T)], others[kPackedUnit / sizeof(T)];
    memcpy(static_cast<void*>(sums), &a, sizeof(a));
    memcpy(static_cast<void*>(others), &b, sizeof(b));
    for (std::size_t i = 0; i < kPackedUnit / sizeof(T); ++i)
      sums[i] = combine<kOp>(sums[i], others[i]);
    memcpy(&a, static_cast<const void*>(sums), sizeof(a));
    return a;
  }
};

// a op b of the elements in 16 bytes.
template <class T, ReduceOp kOp>
WEFT_DEVICE_CALLED Chunk<16>::type fold_of_chunks(Chunk<16>::type a, Chunk<16>::type b) {
  constexpr std::size_t kCount = sizeof(a) / sizeof(T);
  T sums[kCount], others[kCount];
  memcpy(static_cast<void*>(sums), &a, sizeof(a));
  memcpy(static_cast<void*>(others), &b, sizeof(b));
  for (std::size_t i = 0; i < kCount; ++i) sums[i] = combine<kOp>(sums[i], others[i]);
  memcpy(&a, static_cast<const void*>(sums), sizeof(a));
  return a;
}

// The Fold of run_generally(): an ElementFold as a value, so that one function serves all.
struct ErasedFold {
  using Unit = Chunk<16>::type;
  std::size_t element = 0;
  Unit identity{};
  Unit (*op)(Unit a, Unit b) = nullptr;

  template <class Scope, class Source>
  WEFT_DEVICE void fold(const Scope& scope, std::byte* dst, const Source& source, int n,
                        std::size_t count) const {
    for_chunks(scope, count, [&](std::size_t at, unsigned bytes) {
      Unit sum = load(source(0) + at, bytes);
      WEFT_DEVICE_AS_A_LOOP
      for (int rank = 1; rank < n; ++rank) sum = sum_with(sum, source(rank) + at, bytes);
      store(dst + at, bytes, sum);
    });
  }
  template <class Scope>
  WEFT_DEVICE void fill(const Scope& scope, std::byte* dst, std::size_t count) const {
    for_chunks(scope, count,
               [&](std::size_t at, unsigned bytes) { store(dst + at, bytes, identity); });
  }

 private:
  template <class Scope, class Body>
  WEFT_DEVICE void for_chunks(const Scope& scope, std::size_t count, Body body) const {
    const std::size_t all = count * element;
    WEFT_DEVICE_AS_A_LOOP
    for (std::size_t at = sizeof(Unit) * static_cast<std::size_t>(scope.rank()); at < all;
         at += sizeof(Unit) * static_cast<std::size_t>(scope.size()))
      body(at, static_cast<unsigned>(all - at < sizeof(Unit) ? all - at : sizeof(Unit)));
  }
  // Called, so that the loops above keep few registers.
  WEFT_DEVICE_CALLED Unit sum_with(Unit sum, [[maybe_unused]] const std::byte* from,
                                   [[maybe_unused]] unsigned bytes) const {
#if defined(WEFT_DEVICE_WITHOUT_REDUCTIONS)  // of a library that has none
    platform::trap();
    return sum;
#else
    return op(sum, load(from, bytes));
#endif
  }
  static WEFT_DEVICE_CALLED Unit load(const std::byte* from, unsigned bytes) {
    return {load_unit(from, bytes, 0), bytes > kPackedUnit ? load_unit(from, bytes, 1) : 0};
  }
  static WEFT_DEVICE_CALLED void store(std::byte* to, unsigned bytes, Unit unit) {
    store_unit(to, bytes, 0, unit.x);
    if (bytes > kPackedUnit) store_unit(to, bytes, 1, unit.y);
  }
};
template <class T, ReduceOp kOp>
WEFT_DEVICE ErasedFold erased(ElementFold<T, kOp>) {
  ErasedFold fold;
  fold.element = sizeof(T);
  fold.op = fold_of_chunks<T, kOp>;
  T all[sizeof(fold.identity) / sizeof(T)];
  for (T& each : all) each = identity<kOp, T>();
  memcpy(&fold.identity, static_cast<const void*>(all), sizeof(all));
  return fold;
}

// The parts that I fold: a member's piece, which it has sent into its slot of my block, and my own.
template <class Member>
struct Sent {
  Member& m;
  const std::byte* mine;
  WEFT_DEVICE const std::byte* operator()(int rank) const {
    return rank == m.rank() ? mine : m.payload(rank);
  }
};

// Any of them, slot by slot: every member pushes what it has to those who need it, and folds what
// it has been sent. In place: in each exchange a member overwrites only that piece of its src which
// it has just sent, or is folding.
struct Pushed {
  Folding what;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;  // of a block
  bool together;      // several pieces: see fold_pushed()

  WEFT_DEVICE const std::byte* block_for(int rank, std::size_t at) const {
    const bool apart = what == Folding::kReduceScatter;
    return src + (apart ? static_cast<std::size_t>(rank) * bytes : 0) + at;
  }
};

// `bytes` from `at` on, to whoever needs them; and those of others are here.
template <class Member>
WEFT_DEVICE_CALLED bool push_piece(Member& m, const Pushed& p, std::size_t at, std::size_t bytes) {
  if (!m.begin()) return false;
  const bool scans = is_scan(p.what);
  if (p.what == Folding::kReduce && m.spans_hosts()) {
    const auto landing = [&](int rank) { return Landing{m.payload(rank), bytes}; };
    if (!tell_all_by_hosts(m, p.src + at, landing)) return false;
  } else {
    m.for_peers(scans ? m.rank() + 1 : 0, m.size(), p.together ? kTooManyBytes : bytes,
                [&](auto caller, int to) {
                  m.send(caller, to, m.payload(m.rank()), p.block_for(to, at), bytes);
                });
    if (!m.all_arrived(0, scans ? m.rank() : m.size())) return false;
  }
  if (!scans) m.end_all();
  return true;
}
template <class Member, class Fold>
WEFT_DEVICE_CALLED void fold_piece(Member& m, const Pushed& p, std::size_t at, std::size_t bytes,
                                   const Fold& fold) {
  const int folded = p.what == Folding::kScanInclusive ? m.rank() + 1
                     : is_scan(p.what)                 ? m.rank()
                                                       : m.size();
  if (folded == 0) return fold.fill(m.scope(), p.dst + at, bytes / fold.element);
  fold.fold(m.scope(), p.dst + at, Sent<Member>{m, p.block_for(m.rank(), at)}, folded,
            bytes / fold.element);
}
template <class Member, class Fold>
WEFT_DEVICE_CALLED bool fold_pushed(Member& m, Folding what, std::byte* dst, const std::byte* src,
                                    std::size_t count, const Fold& fold) {
  const std::size_t room = m.payload_bytes();
  // To begin an exchange says that I have finished the one before, all my threads: several pieces
  // are sent by the scope as one, never by a thread while another is still folding.
  const Pushed p{what, dst, src, count * fold.element, count * fold.element > room};
  const std::size_t piece = p.together ? room / fold.element * fold.element : room;
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t at = 0; at == 0 || at < p.bytes; at += piece) {
    const std::size_t now = p.bytes - at < piece ? p.bytes - at : piece;
    if (!push_piece(m, p, at, now)) return false;
    fold_piece(m, p, at, now, fold);
  }
  return true;
}

// Where blocks of the members' src can be read: in place where the peer is mapped, else in slots of
// its rank. Behind a sync, in an exchange that sends no payload, those of all generations are free:
// nobody goes on to the next exchange before I have told him that I have read his src.
template <class Member>
class Sources {
 public:
  WEFT_DEVICE Sources(Member& m, const std::byte* src, int n)
      : m_(m), src_(src), n_(n), all_direct_(all_are_direct()) {
    platform::lies_in_memory(*this);
  }
  // Largest block out of `bytes`.
  WEFT_DEVICE_CALLED std::size_t block(std::size_t bytes, std::size_t element) const {
    const std::size_t room = m_.payload_bytes() / element * element;
    return all_direct_ || bytes < room ? bytes : room;
  }
  // `bytes` from `offset` on, kGenerations blocks at most, which cost one round trip.
  WEFT_DEVICE_CALLED void pull(std::size_t offset, std::size_t bytes, std::size_t block) {
    offset_ = offset;
    if (all_direct_) return;
    WEFT_DEVICE_AS_A_LOOP
    for (int rank = 0; rank < n_; ++rank) {
      const int pe = m_.pe(rank);
      if (m_.port().direct(src_, pe) != nullptr) continue;
      int number = 0;
      WEFT_DEVICE_AS_A_LOOP
      for (std::size_t at = 0; at < bytes; at += block, ++number)
        m_.port().get_nbi(m_.scope(), m_.payload(number, rank), src_ + offset + at,
                          bytes - at < block ? bytes - at : block, pe);
    }
    m_.port().quiet(m_.scope());
  }
  // Block `number` of those, `at` bytes behind the first.
  WEFT_DEVICE_CALLED const std::byte* at(int rank, int number, std::size_t at) const {
    const std::byte* direct = m_.port().direct(src_, m_.pe(rank));
    return direct != nullptr ? direct + offset_ + at : m_.payload(number, rank);
  }

 private:
  WEFT_DEVICE_CALLED bool all_are_direct() const {
    WEFT_DEVICE_AS_A_LOOP
    for (int rank = 0; rank < n_; ++rank)
      if (m_.port().direct(src_, m_.pe(rank)) == nullptr) return false;
    return true;
  }

  Member& m_;
  const std::byte* src_;
  int n_;
  bool all_direct_;
  std::size_t offset_ = 0;
};

// Block `number` of those pulled, `at` bytes behind the first.
template <class Member, class Fold>
WEFT_DEVICE_CALLED void fold_pulled(const Member& m, const Sources<Member>& sources, std::byte* dst,
                                    int number, std::size_t at, std::size_t bytes,
                                    const Fold& fold) {
  fold.fold(
      m.scope(), dst, [&](int rank) { return sources.at(rank, number, at); }, m.size(),
      bytes / fold.element);
}

// dst[0 .. bytes) = fold over all members of their src[0 .. bytes).
template <class Member, class Fold>
WEFT_DEVICE_CALLED void pull_and_fold(Member& m, std::byte* dst, const std::byte* src,
                                      std::size_t bytes, const Fold& fold) {
  Sources<Member> sources(m, src, m.size());
  const std::size_t block = sources.block(bytes, fold.element);
  const std::size_t most = block < bytes ? block * kGenerations : bytes;
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t some = bytes - at < most ? bytes - at : most;
    sources.pull(at, some, block);
    int number = 0;
    WEFT_DEVICE_AS_A_LOOP
    for (std::size_t part = 0; part < some; part += block, ++number)
      fold_pulled(m, sources, dst + at + part, number, part,
                  some - part < block ? some - part : block, fold);
  }
}

// All have sent what they have of `bytes`, which are shared out.
template <class Member>
WEFT_DEVICE_CALLED bool all_shares_arrived(Member& m, std::size_t bytes) {
  return m.all_arrived(0, m.size(),
                       [&](int from) { return share_of(bytes, m.size(), from).bytes > 0; });
}

// Each member owns a share: it folds it over all members and puts the result to all. In place:
// a share of anybody's src is read by its owner only, before the owner puts the result over it. On
// return src is reusable: what I have heard from every owner it sent after it had read my src.
template <class Member, class Fold>
WEFT_DEVICE_CALLED bool reduce_large(Member& m, std::byte* dst, const std::byte* src,
                                     std::size_t count, const Fold& fold) {
  const int n = m.size();
  const std::size_t bytes = count * fold.element;
  const Share mine = share_of(bytes, n, m.rank());
  if (!m.sync() || !m.begin()) return false;
  if (mine.bytes > 0) pull_and_fold(m, dst + mine.offset, src + mine.offset, mine.bytes, fold);
  if (m.spans_hosts())
    return tell_all_by_hosts(m, dst + mine.offset, [&](int rank) {
      const Share its = share_of(bytes, n, rank);
      return Landing{its.bytes > 0 ? dst + its.offset : nullptr, its.bytes};
    });
  if (mine.bytes > 0) {
    m.for_peers(0, n, kTooManyBytes, [&](auto caller, int to) {
      m.send(caller, to, dst + mine.offset, dst + mine.offset, mine.bytes);
    });
  }
  return all_shares_arrived(m, bytes);
}

template <class Member, class Fold>
WEFT_DEVICE bool reduce(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                        const Fold& fold) {
  const std::size_t bytes = count * fold.element;
  if (m.size() == 1 || (bytes <= m.payload_bytes() && !m.port().pulls(bytes)))
    return fold_pushed(m, Folding::kReduce, dst, src, count, fold);
  return reduce_large(m, dst, src, count, fold);
}

// Large ones are pulled; then a sync, since peers have read my src.
template <class Member, class Fold>
WEFT_DEVICE bool reducescatter(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                               const Fold& fold) {
  const std::size_t bytes = count * fold.element;
  if (dst == src || bytes <= m.payload_bytes() || m.size() == 1)
    return fold_pushed(m, Folding::kReduceScatter, dst, src, count, fold);
  if (!m.sync() || !m.begin()) return false;
  pull_and_fold(m, dst, src + static_cast<std::size_t>(m.rank()) * bytes, bytes, fold);
  return m.sync();
}

struct Scanned {
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  bool inclusive;
};
// The piece of a scan in hand: `bytes` of my share, from `at` on, and in work buffers what stands
// before a rank and behind it.
struct ScanPiece {
  std::size_t at, bytes;
  std::byte *before, *after;
};
// The first one is taken as it is: identity op x is not always x bit for bit (0 + -0).
template <class Member, class Fold>
WEFT_DEVICE_CALLED void scan_rank(const Member& m, const ScanPiece& p, int rank,
                                  const std::byte* next, const Fold& fold) {
  if (rank == 0) return m.port().copy(m.scope(), p.after, next, p.bytes);
  fold.fold(
      m.scope(), p.after, [&](int i) -> const std::byte* { return i == 0 ? p.before : next; }, 2,
      p.bytes / fold.element);
}
template <class Member>
WEFT_DEVICE_CALLED void put_scanned(const Member& m, const Scanned& s, const ScanPiece& p,
                                    int rank) {
  const std::byte* const result = s.inclusive ? p.after : p.before;
  if (rank == m.rank())
    m.port().copy(m.scope(), s.dst + p.at, result, p.bytes);
  else
    m.port().put(m.scope(), s.dst + p.at, result, p.bytes, m.pe(rank), none());
}
template <class Member, class Fold>
WEFT_DEVICE_CALLED void scan_piece(Member& m, Sources<Member>& sources, const Scanned& s,
                                   std::size_t at, std::size_t bytes, const Fold& fold) {
  ScanPiece p{at, bytes, m.work(0), m.work(1)};
  sources.pull(at, bytes, bytes);
  fold.fill(m.scope(), p.before, bytes / fold.element);
  WEFT_DEVICE_AS_A_LOOP
  for (int rank = 0; rank < m.size(); ++rank) {
    scan_rank(m, p, rank, sources.at(rank, 0, 0), fold);
    m.scope().sync();
    put_scanned(m, s, p, rank);
    m.scope().sync();
    std::byte* const swap = p.before;
    p.before = p.after;
    p.after = swap;
  }
}

// Tells all that my share is there, and waits for theirs.
template <class Member>
WEFT_DEVICE_CALLED bool finish_scan(Member& m, std::size_t mine, std::size_t all) {
  if (mine > 0) {
    m.port().fence(m.scope());  // the blocks of a share arrive before the news of it
    m.for_peers(0, m.size(), 0, [&](auto, int to) { m.send(to); });
  }
  return all_shares_arrived(m, all);
}

// Each member owns a share, folds it rank after rank and puts what stands between two ranks to the
// right one: work and traffic are the same on all. In place: the owner is the only one to read or
// write its share, and reads a rank's src before it writes that rank's dst.
template <class Member, class Fold>
WEFT_DEVICE_CALLED bool scan_large(Member& m, const Scanned& s, const Fold& fold) {
  if (!m.sync() || !m.begin()) return false;
  const Share mine = share_of(s.bytes, m.size(), m.rank());
  Sources<Member> sources(m, s.src, m.size());
  const std::size_t room = sources.block(kWorkBytes, fold.element);
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t done = 0; done < mine.bytes; done += room) {
    const std::size_t left = mine.bytes - done;
    scan_piece(m, sources, s, mine.offset + done, left < room ? left : room, fold);
  }
  return finish_scan(m, mine.bytes, s.bytes);
}

template <class Member, class Fold>
WEFT_DEVICE bool scan(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                      const Fold& fold, bool inclusive) {
  const Folding what = inclusive ? Folding::kScanInclusive : Folding::kScanExclusive;
  const std::size_t bytes = count * fold.element;
  if (bytes <= m.payload_bytes() || m.size() == 1)
    return fold_pushed(m, what, dst, src, count, fold);
  const Scanned all{dst, src, bytes, inclusive};
  platform::lies_in_memory(all);
  return scan_large(m, all, fold);
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
