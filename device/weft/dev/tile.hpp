// Tiles: a box is first made as simple as it is (rows of bytes, few and long), then walked in cells
// of as many bytes as one load takes. The threads of a scope take cells in turn, along the rows, so
// that neighbours move what lies next to each other and short rows leave nobody idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device/tile.hpp>
#include <weft/types.hpp>

#include <weft/dev/collective.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/route.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/validate.hpp>

WEFT_DEVICE_LOADED_UNDER_SAME_CONDITION

namespace weft::dev {
inline namespace WEFT_TARGET {

namespace tile {

// --- shapes -------------------------------------------------------------------------------------
// All loops run over constant bounds, so that the arrays become registers.

inline constexpr std::int64_t kMostCells = 0xffffffff;  // along one dimension: a digit of a Walk

// Bytes from the first to past the last element; kTooManyBytes when that does not fit, an extent is
// too large or a stride is negative.
template <class T, int kDims>
WEFT_DEVICE std::uint64_t span_of(const std::int64_t (&extent)[kDims],
                                  const std::int64_t (&stride)[kDims]) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 62) / sizeof(T);
  std::uint64_t last = 0;
  for (int d = 0; d < kDims; ++d) {
    if (extent[d] <= 1) continue;
    const auto steps = static_cast<std::uint64_t>(extent[d] - 1);
    const auto each = static_cast<std::uint64_t>(stride[d]);
    // No division for what is certainly small.
    if (extent[d] > kMostCells || stride[d] < 0 ||
        ((steps | each) >> 31 != 0 && each != 0 && steps > kMost / each))
      return kTooManyBytes;
    last += steps * each;
    if (last > kMost) return kTooManyBytes;
  }
  return (last + 1) * sizeof(T);
}

// Digit 0 counts the bytes, later the cells, of a row; the others count rows.
template <int kDigits>
struct Box {
  std::uint64_t count[kDigits];
  std::int64_t dst_step[kDigits];  // in bytes
  std::int64_t src_step[kDigits];

  WEFT_DEVICE std::uint64_t total() const {
    std::uint64_t all = 1;
    for (int d = 0; d < kDigits; ++d) all *= count[d];
    return all;
  }
  // The alignment that the addresses of all rows have in common: all of them, or'ed.
  WEFT_DEVICE std::uint64_t alignment() const {
    std::uint64_t all = count[0];
    for (int d = 1; d < kDigits; ++d)
      if (count[d] > 1) all |= static_cast<std::uint64_t>(dst_step[d] | src_step[d]);
    return all;
  }
  WEFT_DEVICE Box in_cells(std::uint64_t bytes) const {
    Box cells = *this;
    cells.count[0] /= bytes;
    cells.dst_step[0] = cells.src_step[0] = static_cast<std::int64_t>(bytes);
    return cells;
  }
  WEFT_DEVICE Box in_rows() const {
    Box rows = *this;
    rows.count[0] = 1;
    return rows;
  }
};

template <int kDims>
WEFT_DEVICE bool is_behind_next(const TileShape<kDims>& s, int d) {
  if (s.extent[d + 1] == 1) return false;
  if (s.extent[d] == 1) return true;
  if (s.dst_stride[d] != s.dst_stride[d + 1]) return s.dst_stride[d] > s.dst_stride[d + 1];
  return s.src_stride[d] > s.src_stride[d + 1];
}

WEFT_DEVICE void exchange(std::int64_t& a, std::int64_t& b) {
  const std::int64_t kept = a;
  a = b;
  b = kept;
}

// Small strides first; dimensions of one element, whose strides mean nothing, last.
template <int kDims>
WEFT_DEVICE void sort(TileShape<kDims>& s) {
  for (int pass = 1; pass < kDims; ++pass)
    for (int d = 0; d + 1 < kDims; ++d)
      if (is_behind_next(s, d)) {
        exchange(s.extent[d], s.extent[d + 1]);
        exchange(s.dst_stride[d], s.dst_stride[d + 1]);
        exchange(s.src_stride[d], s.src_stride[d + 1]);
      }
}

// Two dimensions are one where the second begins with what would come next in the first.
template <int kDims>
WEFT_DEVICE void merge(TileShape<kDims>& s) {
  for (int d = kDims - 1; d > 0; --d)
    if (s.dst_stride[d] == s.dst_stride[d - 1] * s.extent[d - 1] &&
        s.src_stride[d] == s.src_stride[d - 1] * s.extent[d - 1] &&
        s.extent[d - 1] * s.extent[d] <= kMostCells) {
      s.extent[d - 1] *= s.extent[d];
      s.extent[d] = 1;
    }
}

// The box of `shape`, which may hold nothing: then total() is 0.
template <class T, int kDims>
WEFT_DEVICE Box<kDims + 1> box_of(TileShape<kDims> shape) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  for (int d = 0; d < kDims; ++d)
    if (shape.extent[d] < 0) shape.extent[d] = 0;
  sort(shape);
  merge(shape);
  const bool has_rows = shape.dst_stride[0] == 1 && shape.src_stride[0] == 1;
  Box<kDims + 1> box;
  box.count[0] = sizeof(T);
  box.dst_step[0] = box.src_step[0] = 1;
  for (int d = 0; d < kDims; ++d) {
    box.count[d + 1] = static_cast<std::uint64_t>(shape.extent[d]);
    box.dst_step[d + 1] = shape.dst_stride[d] * kBytes;
    box.src_step[d + 1] = shape.src_stride[d] * kBytes;
  }
  if (has_rows) {
    box.count[0] *= box.count[1];
    box.count[1] = 1;
  }
  return box;
}

// Where a thread stands that takes every size-th cell of a box: counted up digit by digit, without
// divisions.
template <int kDigits>
class Walk {
 public:
  WEFT_DEVICE Walk(const Box<kDigits>& box, Ranks who) : box_(box) {
    const Digits first(box, who.rank());
    const Digits step(box, who.size());
    for (int d = 0; d < kDigits; ++d) {
      at_[d] = first.digit[d];
      by_[d] = step.digit[d];
      dst_ += at_[d] * box.dst_step[d];
      src_ += at_[d] * box.src_step[d];
      dst_by_ += by_[d] * box.dst_step[d];
      src_by_ += by_[d] * box.src_step[d];
    }
  }
  // Bytes from the first cell.
  WEFT_DEVICE std::int64_t dst() const { return dst_; }
  WEFT_DEVICE std::int64_t src() const { return src_; }

  WEFT_DEVICE void advance() {
    dst_ += dst_by_;
    src_ += src_by_;
    std::uint32_t carry = 0;
    for (int d = 0; d + 1 < kDigits; ++d) {
      const auto count = static_cast<std::uint32_t>(box_.count[d]);
      const std::uint32_t step = by_[d] + carry;
      carry = count - at_[d] <= step ? 1 : 0;
      at_[d] += step - (carry != 0 ? count : 0);
      if (carry == 0) continue;
      dst_ += box_.dst_step[d + 1] - count * box_.dst_step[d];
      src_ += box_.src_step[d + 1] - count * box_.src_step[d];
    }
  }

 private:
  struct Digits {
    std::uint32_t digit[kDigits];
    WEFT_DEVICE Digits(const Box<kDigits>& box, int number) {
      auto rest = static_cast<std::uint32_t>(number);
      for (int d = 0; d + 1 < kDigits; ++d) {
        // A count that is no more than a number of threads has 32 bits.
        const bool fits = rest < box.count[d];
        const std::uint32_t above = fits ? 0 : rest / static_cast<std::uint32_t>(box.count[d]);
        digit[d] = fits ? rest : rest - above * static_cast<std::uint32_t>(box.count[d]);
        rest = above;
      }
      digit[kDigits - 1] = rest;
    }
  };

  const Box<kDigits>& box_;
  std::uint32_t at_[kDigits], by_[kDigits];
  std::int64_t dst_ = 0, src_ = 0, dst_by_ = 0, src_by_ = 0;
};

// --- copies -------------------------------------------------------------------------------------

inline constexpr int kAtOnce = 4;  // cells of a thread whose loads are under way together

template <std::size_t kBytes, int kDigits>
WEFT_DEVICE_CALLED void copy_cells(ByValue<Ranks> who, std::byte* dst, const std::byte* src,
                                   Box<kDigits> bytes) {
  using Unit = typename Chunk<kBytes>::type;
  const Box<kDigits> box = bytes.in_cells(kBytes);
  Walk<kDigits> walk(box, who);
  const std::uint64_t total = box.total();
  const auto step = static_cast<std::uint64_t>(who.size());
  WEFT_DEVICE_AS_A_LOOP
  for (auto next = static_cast<std::uint64_t>(who.rank()); next < total; next += kAtOnce * step) {
    Unit cell[kAtOnce];
    std::int64_t to[kAtOnce];
    for (unsigned k = 0; k < kAtOnce; ++k)
      if (next + k * step < total) {
        cell[k] = *reinterpret_cast<const Unit*>(src + walk.src());
        to[k] = walk.dst();
        walk.advance();
      }
    for (unsigned k = 0; k < kAtOnce; ++k)
      if (next + k * step < total) *reinterpret_cast<Unit*>(dst + to[k]) = cell[k];
  }
}

template <std::size_t kBytes, std::size_t kLeast, int kDigits>
WEFT_DEVICE void copy_in_cells(Ranks who, std::byte* dst, const std::byte* src,
                               const Box<kDigits>& box, std::uint64_t alignment) {
  if constexpr (kBytes > kLeast)
    if (alignment % kBytes != 0)
      return copy_in_cells<kBytes / 2, kLeast>(who, dst, src, box, alignment);
  copy_cells<kBytes>(who, dst, src, box);
}

template <int kDigits>
WEFT_DEVICE_CALLED void copy_rows(ByValue<Ranks> who, std::byte* dst, const std::byte* src,
                                  Box<kDigits> box) {
  const Box<kDigits> rows = box.in_rows();
  Walk<kDigits> walk(rows, {0, 1});
  WEFT_DEVICE_AS_A_LOOP
  for (std::uint64_t left = rows.total(); left > 0; --left, walk.advance())
    copy(who, dst + walk.dst(), src + walk.src(), box.count[0]);
}

template <std::size_t kLeast, int kDigits>
WEFT_DEVICE void copy_box(Ranks who, std::byte* dst, const std::byte* src,
                          const Box<kDigits>& box) {
  // Rows that keep each thread busy are copied as anything else, whatever their alignment.
  constexpr std::uint64_t kLongShare = 16 * kAtOnce;
  if (box.count[0] >= kLongShare * static_cast<std::uint64_t>(who.size()))
    return copy_rows(who, dst, src, box);
  const std::uint64_t ends = rma::address(dst) | rma::address(src);
  copy_in_cells<16, (kLeast < 16 ? kLeast : 16)>(who, dst, src, box, ends | box.alignment());
}

// By the engine for bulk copies: rows, or all that is one. False: that is not for it.
template <class Scope, int kDigits>
WEFT_DEVICE bool copy_in_bulk(const Scope& scope, std::byte* dst, const std::byte* src,
                              const Box<kDigits>& box) {
  if constexpr (is_bulk<Scope> && kDigits == 3) {
    if (box.count[1] != 1) return false;
    if (box.count[2] == 1) {
      if (!scope.takes(dst, src, box.count[0])) return false;
      scope.copy(dst, src, box.count[0]);
      return true;
    }
    const std::uint64_t ends = rma::address(dst) | rma::address(src);
    if (!scope.takes_rows(dst, src, box.count[0], ends | box.alignment())) return false;
    scope.copy_rows(dst, static_cast<std::size_t>(box.dst_step[2]), src,
                    static_cast<std::size_t>(box.src_step[2]), box.count[0], box.count[2]);
    return true;
  }
  return false;
}

// move(dst, src, bytes) for the rows that are mine.
template <int kDigits, class Move>
WEFT_DEVICE void for_rows(Ranks who, const Box<kDigits>& box, Move move) {
  const Box<kDigits> rows = box.in_rows();
  Walk<kDigits> walk(rows, who);
  const std::uint64_t total = rows.total();
  WEFT_DEVICE_AS_A_LOOP
  for (auto i = static_cast<std::uint64_t>(who.rank()); i < total;
       i += static_cast<std::uint64_t>(who.size()), walk.advance())
    move(walk.dst(), walk.src(), box.count[0]);
}

// --- reductions ---------------------------------------------------------------------------------

// The elements of one cell.
template <class T, std::size_t kBytes>
struct Pack {
  static constexpr std::size_t kMany = kBytes / sizeof(T);
  T part[kMany];

  WEFT_DEVICE void load(const std::byte* from) {
    if constexpr (kMany == 1) {
      part[0] = *reinterpret_cast<const T*>(from);
    } else {
      using Unit = typename Chunk<kBytes>::type;
      const Unit unit = *reinterpret_cast<const Unit*>(from);
      memcpy(static_cast<void*>(part), &unit, kBytes);
    }
  }
  WEFT_DEVICE void store(std::byte* to) const {
    if constexpr (kMany == 1) {
      *reinterpret_cast<T*>(to) = part[0];
    } else {
      using Unit = typename Chunk<kBytes>::type;
      Unit unit;
      memcpy(&unit, static_cast<const void*>(part), kBytes);
      *reinterpret_cast<Unit*>(to) = unit;
    }
  }
  template <ReduceOp kOp>
  WEFT_DEVICE void fold(const Pack& next) {
    for (std::size_t i = 0; i < kMany; ++i) part[i] = coll::combine<kOp>(part[i], next.part[i]);
  }
};

// The cell at `src` of a PE that is not mapped.
template <class T, std::size_t kBytes>
WEFT_DEVICE_COLD Pack<T, kBytes> fetched(ByValue<ColdContext> cold, const T* src, int pe) {
  const DeviceContext h = cold;
  Pack<T, kBytes> cell;
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t i = 0; i < cell.kMany; ++i) cell.part[i] = Context(h).g(src + i, pe);
  return cell;
}

// `mapped` is src at the PE, or null.
template <std::size_t kBytes, class T>
WEFT_DEVICE Pack<T, kBytes> cell_of(ColdContext cold, const T* src, const T* mapped,
                                    std::int64_t offset, int pe) {
  if (mapped == nullptr)
    return fetched<T, kBytes>(cold, src + offset / static_cast<std::int64_t>(sizeof(T)), pe);
  Pack<T, kBytes> cell;
  cell.load(coll::bytes_at(mapped) + offset);
  return cell;
}

inline constexpr int kFoldedAtOnce = 2;  // each takes registers for two members

template <ReduceOp kOp, std::size_t kBytes, class T, int kDigits>
WEFT_DEVICE_CALLED void fold_cells(ByValue<ColdContext> cold, ByValue<Ranks> who,
                                   ByValue<Team> team, std::byte* dst, const T* src,
                                   Box<kDigits> bytes) {
  const DeviceContext h = cold;
  const Context ctx(h);
  const Box<kDigits> box = bytes.in_cells(kBytes);
  Walk<kDigits> walk(box, who);
  const std::uint64_t total = box.total();
  const auto step = static_cast<std::uint64_t>(who.size());
  WEFT_DEVICE_AS_A_LOOP
  for (auto next = static_cast<std::uint64_t>(who.rank()); next < total;
       next += kFoldedAtOnce * step) {
    Pack<T, kBytes> sum[kFoldedAtOnce];
    std::int64_t to[kFoldedAtOnce], from[kFoldedAtOnce];
    const int first = team.pe_of(0);
    const T* const there = ctx.ptr(src, first);
    for (unsigned k = 0; k < kFoldedAtOnce; ++k)
      if (next + k * step < total) {
        to[k] = walk.dst();
        from[k] = walk.src();
        walk.advance();
        sum[k] = cell_of<kBytes>(cold, src, there, from[k], first);
      }
    WEFT_DEVICE_AS_A_LOOP
    for (int rank = 1; rank < team.size; ++rank) {
      const int pe = team.pe_of(rank);
      const T* const mapped = ctx.ptr(src, pe);
      Pack<T, kBytes> cell[kFoldedAtOnce];
      for (unsigned k = 0; k < kFoldedAtOnce; ++k)
        if (next + k * step < total) cell[k] = cell_of<kBytes>(cold, src, mapped, from[k], pe);
      for (unsigned k = 0; k < kFoldedAtOnce; ++k)
        if (next + k * step < total) sum[k].template fold<kOp>(cell[k]);
    }
    for (unsigned k = 0; k < kFoldedAtOnce; ++k)
      if (next + k * step < total) sum[k].store(dst + to[k]);
  }
}

}  // namespace tile

template <class Scope, class T, int kDims>
WEFT_DEVICE void put_tile_nbi(const Context& ctx, Scope scope, T* dst, const T* src,
                              const TileShape<kDims>& shape, int pe) {
  static_assert(is_rma_type<T>, "put moves trivially copyable types");
  const auto box = tile::box_of<T>(shape);
  if (box.total() == 0) return;
  scope.sync();
  const std::uint64_t span = tile::span_of<T>(shape.extent, shape.dst_stride);
  const Route to = route_of(ctx.handle(), "put_tile", dst, span, alignof(T), pe);
  const Ranks who{scope.rank(), scope.size()};
  if (to.at != nullptr) {
    if (!tile::copy_in_bulk(scope, to.at, coll::bytes_at(src), box))
      tile::copy_box<alignof(T)>(who, to.at, coll::bytes_at(src), box);
  } else if (to.by_ring) {
    tile::for_rows(who, box, [&](std::int64_t at, std::int64_t from, std::uint64_t bytes) {
      ctx.put_nbi(Thread{}, coll::bytes_at(dst) + at, coll::bytes_at(src) + from, bytes, pe);
    });
  }
}

template <class Scope, class T, int kDims>
WEFT_DEVICE void get_tile_nbi(const Context& ctx, Scope scope, T* dst, const T* src,
                              const TileShape<kDims>& shape, int pe) {
  static_assert(is_rma_type<T>, "get moves trivially copyable types");
  const auto box = tile::box_of<T>(shape);
  if (box.total() == 0) return;
  scope.sync();
  const std::uint64_t span = tile::span_of<T>(shape.extent, shape.src_stride);
  const Route from = route_of(ctx.handle(), "get_tile", src, span, alignof(T), pe);
  const Ranks who{scope.rank(), scope.size()};
  if (from.at != nullptr) {
    if (!tile::copy_in_bulk(scope, coll::bytes_at(dst), from.at, box))
      tile::copy_box<alignof(T)>(who, coll::bytes_at(dst), from.at, box);
  } else if (from.by_ring) {
    tile::for_rows(who, box, [&](std::int64_t at, std::int64_t there, std::uint64_t bytes) {
      ctx.get_nbi(Thread{}, coll::bytes_at(dst) + at, coll::bytes_at(src) + there, bytes, pe);
    });
  }
}

template <ReduceOp kOp, class Scope, class T, int kDims>
WEFT_DEVICE bool reduce_tile(const Context& ctx, Scope scope, const Team& team, T* dst,
                             const T* src, const TileShape<kDims>& shape, int root) {
  static_assert(is_reduce_type<T>, "reductions take integers and floats");
  if (root != kEachMember && (root < 0 || root >= team.size))
    return coll::refuse_team(ctx.handle(), FaultCode::kBadRoot, "reduce_tile", team, root);
  const auto box = tile::box_of<T>(shape);
  const bool is_empty = box.total() == 0;
  const std::uint64_t span = is_empty ? 0 : tile::span_of<T>(shape.extent, shape.src_stride);
  if (!coll::is_there(ctx, "reduce_tile", src, span)) return false;
  if (!coll::sync_members(ctx, scope, team, "reduce_tile")) return false;
  if (is_empty || (root != kEachMember && root != team.rank)) return true;
  const Ranks who{scope.rank(), scope.size()};
  const std::uint64_t all = rma::address(dst) | rma::address(src) | box.alignment();
  if (all % 16 == 0)
    tile::fold_cells<kOp, 16>(ctx.handle(), who, team, coll::bytes_at(dst), src, box);
  else
    tile::fold_cells<kOp, sizeof(T)>(ctx.handle(), who, team, coll::bytes_at(dst), src, box);
  scope.sync();
  return true;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev

WEFT_DEVICE_END_OF_LOADED
