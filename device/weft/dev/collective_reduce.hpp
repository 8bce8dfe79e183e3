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
    for (auto i = static_cast<std::size_t>(scope.rank()); i < count;
         i += static_cast<std::size_t>(scope.size())) {
      T sum = reinterpret_cast<const T*>(source(0))[i];
      for (int rank = 1; rank < n; ++rank)
        sum = combine<kOp>(sum, reinterpret_cast<const T*>(source(rank))[i]);
      reinterpret_cast<T*>(dst)[i] = sum;
    }
  }
  template <class Scope>
  WEFT_DEVICE void fill(const Scope& scope, std::byte* dst, std::size_t count) const {
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

// What a member folds of mine: its piece, which it has sent into its slot of my block, and my own.
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
template <class Member, class Fold>
WEFT_DEVICE bool fold_pushed(Member& m, Folding what, std::byte* dst, const std::byte* src,
                             std::size_t count, const Fold& fold) {
  const int n = m.size();
  const int me = m.rank();
  const bool scans = is_scan(what);
  const int first = scans ? me + 1 : 0;  // whom I send to
  const int heard = scans ? me : n;      // how many I hear of
  const int folded = what == Folding::kScanInclusive ? me + 1 : heard;
  const std::size_t bytes = count * fold.element;
  const std::size_t stride = what == Folding::kReduceScatter ? bytes : 0;  // of two members' parts
  const std::size_t room = m.payload_bytes();
  // To begin an exchange says that I have finished the one before, all my threads: several pieces
  // are sent by the scope as one, never by a thread while another is still folding.
  const bool together = bytes > room;
  const std::size_t piece = together ? room / fold.element * fold.element : room;
  for (std::size_t at = 0; at == 0 || at < bytes; at += piece) {
    const std::size_t now = bytes - at < piece ? bytes - at : piece;
    if (!m.begin()) return false;
    if (what == Folding::kReduce && m.spans_hosts()) {
      if (!tell_all_by_hosts(m, src + at, [&](int rank) { return Landing{m.payload(rank), now}; }))
        return false;
    } else {
      m.for_peers(first, n, together ? kTooManyBytes : now, [&](auto caller, int to) {
        m.send(caller, to, m.payload(me), src + static_cast<std::size_t>(to) * stride + at, now);
      });
      if (!m.all_arrived(0, heard)) return false;
    }
    if (!scans) m.end_all();
    const std::byte* const mine = src + static_cast<std::size_t>(me) * stride + at;
    if (folded == 0)
      fold.fill(m.scope(), dst + at, now / fold.element);
    else
      fold.fold(m.scope(), dst + at, Sent<Member>{m, mine}, folded, now / fold.element);
  }
  return true;
}

// Where blocks of the members' src can be read: in place where the peer is mapped, else in slots of
// its rank. Behind a sync, in an exchange that sends no payload, those of all generations are free:
// nobody goes on to the next exchange before I have told him that I have read his src.
template <class Member>
class Sources {
 public:
  WEFT_DEVICE Sources(Member& m, const std::byte* src, int n) : m_(m), src_(src), n_(n) {
    for (int rank = 0; rank < n; ++rank)
      if (m.port().direct(src, m.pe(rank)) == nullptr) all_direct_ = false;
  }
  // Largest block out of `bytes`.
  WEFT_DEVICE std::size_t block(std::size_t bytes, std::size_t element) const {
    const std::size_t room = m_.payload_bytes() / element * element;
    return all_direct_ || bytes < room ? bytes : room;
  }
  // `bytes` from `offset` on, kGenerations blocks at most, which cost one round trip.
  WEFT_DEVICE void pull(std::size_t offset, std::size_t bytes, std::size_t block) {
    offset_ = offset;
    if (all_direct_) return;
    for (int rank = 0; rank < n_; ++rank) {
      const int pe = m_.pe(rank);
      if (m_.port().direct(src_, pe) != nullptr) continue;
      int number = 0;
      for (std::size_t at = 0; at < bytes; at += block, ++number)
        m_.port().get_nbi(m_.scope(), m_.payload(number, rank), src_ + offset + at,
                          bytes - at < block ? bytes - at : block, pe);
    }
    m_.port().quiet(m_.scope());
  }
  // Block `number` of those, `at` bytes behind the first.
  WEFT_DEVICE const std::byte* at(int rank, int number, std::size_t at) const {
    const std::byte* direct = m_.port().direct(src_, m_.pe(rank));
    return direct != nullptr ? direct + offset_ + at : m_.payload(number, rank);
  }

 private:
  Member& m_;
  const std::byte* src_;
  int n_;
  bool all_direct_ = true;
  std::size_t offset_ = 0;
};

// dst[0 .. bytes) = fold over all members of their src[0 .. bytes).
template <class Member, class Fold>
WEFT_DEVICE void pull_and_fold(Member& m, std::byte* dst, const std::byte* src, std::size_t bytes,
                               const Fold& fold) {
  Sources<Member> sources(m, src, m.size());
  const std::size_t block = sources.block(bytes, fold.element);
  const std::size_t most = block < bytes ? block * kGenerations : bytes;
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t some = bytes - at < most ? bytes - at : most;
    sources.pull(at, some, block);
    int number = 0;
    for (std::size_t part = 0; part < some; part += block, ++number)
      fold.fold(
          m.scope(), dst + at + part, [&](int rank) { return sources.at(rank, number, part); },
          m.size(), (some - part < block ? some - part : block) / fold.element);
  }
}

// Each member owns a share: it folds it over all members and puts the result to all. In place:
// a share of anybody's src is read by its owner only, before the owner puts the result over it. On
// return src is reusable: what I have heard from every owner it sent after it had read my src.
template <class Member, class Fold>
WEFT_DEVICE bool reduce_large(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                              const Fold& fold) {
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
  return m.all_arrived(0, n, [&](int from) { return share_of(bytes, n, from).bytes > 0; });
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

// Each member owns a share, folds it rank after rank and puts what stands between two ranks to the
// right one: work and traffic are the same on all. In place: the owner is the only one to read or
// write its share, and reads a rank's src before it writes that rank's dst.
template <class Member, class Fold>
WEFT_DEVICE bool scan_large(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                            const Fold& fold, bool inclusive) {
  const int n = m.size();
  const std::size_t bytes = count * fold.element;
  const Share mine = share_of(bytes, n, m.rank());
  auto& port = m.port();
  auto& scope = m.scope();
  if (!m.sync() || !m.begin()) return false;

  Sources<Member> sources(m, src, n);
  const std::size_t room = sources.block(kWorkBytes, fold.element);
  for (std::size_t at = mine.offset; at < mine.offset + mine.bytes; at += room) {
    const std::size_t left = mine.offset + mine.bytes - at;
    const std::size_t now = left < room ? left : room;
    sources.pull(at, now, now);
    std::byte* before = m.work(0);
    std::byte* after = m.work(1);
    fold.fill(scope, before, now / fold.element);
    for (int rank = 0; rank < n; ++rank) {
      // The first one is taken as it is: identity op x is not always x bit for bit (0 + -0).
      const std::byte* next = sources.at(rank, 0, 0);
      if (rank == 0)
        port.copy(scope, after, next, now);
      else
        fold.fold(
            scope, after, [&](int i) -> const std::byte* { return i == 0 ? before : next; }, 2,
            now / fold.element);
      scope.sync();
      const std::byte* result = inclusive ? after : before;
      if (rank == m.rank())
        port.copy(scope, dst + at, result, now);
      else
        port.put(scope, dst + at, result, now, m.pe(rank), none());
      scope.sync();
      std::byte* swap = before;
      before = after;
      after = swap;
    }
  }
  if (mine.bytes > 0) {
    port.fence(scope);  // the blocks that make up a share arrive before the news of it
    m.for_peers(0, n, 0, [&](auto, int to) { m.send(to); });
  }
  return m.all_arrived(0, n, [&](int from) { return share_of(bytes, n, from).bytes > 0; });
}

template <class Member, class Fold>
WEFT_DEVICE bool scan(Member& m, std::byte* dst, const std::byte* src, std::size_t count,
                      const Fold& fold, bool inclusive) {
  const Folding what = inclusive ? Folding::kScanInclusive : Folding::kScanExclusive;
  if (count * fold.element <= m.payload_bytes() || m.size() == 1)
    return fold_pushed(m, what, dst, src, count, fold);
  return scan_large(m, dst, src, count, fold, inclusive);
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
