// AllReduceNorm: an AllReduce of rows to whose sums the residual is added, and a norm of each row
// by the block that has it whole. What is sent is the sum, from which everybody norms for himself:
// the norm's result would be as many bytes once more.
//
// The sum of a row's squares is formed in an order that depends on its length alone, not on how
// many threads there are, nor on the algorithm.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device.hpp>

#include "kernels/collectives/bulk_kernels.hpp"
#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Partial sums of squares: of units l, l + kPartials, ... each; kPartialsTogether in a row of them
// are added up, and then what these come to.
inline constexpr unsigned kPartials = 512, kPartialsTogether = 16;
inline constexpr unsigned kPartialGroups = kPartials / kPartialsTogether;
inline constexpr int kUnitsTogether = 4;  // of a row that a thread has under way
inline constexpr std::size_t kNormSharedBytes = (kPartials + kPartialGroups) * sizeof(float);
// Rows of up to so many bytes lie in shared memory behind the sums, from packets on.
inline constexpr std::size_t kMostSharedRow = 44 << 10;
WEFT_HOST_DEVICE constexpr std::size_t shared_row_bytes(std::size_t row_bytes) {
  return row_bytes <= kMostSharedRow ? (row_bytes + 7) / 8 * 8 : 0;
}

// 8 bytes of a row, as floats.
template <class T>
class UnitOfRow {
 public:
  static constexpr int kCount = static_cast<int>(sizeof(std::uint64_t) / sizeof(T));
  WEFT_DEVICE explicit UnitOfRow(std::uint64_t unit) { memcpy(elements_, &unit, sizeof(unit)); }
  WEFT_DEVICE float operator[](int i) const { return Folded<T>::widen(elements_[i]); }
  WEFT_DEVICE void set(int i, float value) { elements_[i] = Folded<T>::narrow(value); }
  WEFT_DEVICE std::uint64_t unit() const {
    std::uint64_t unit;
    memcpy(&unit, elements_, sizeof(unit));
    return unit;
  }

 private:
  T elements_[kCount];
};

// Units u, u + step, ... of a row, before any of them is looked at; zeros behind its end.
struct UnitsOfRow {
  std::uint64_t units[kUnitsTogether];
  WEFT_DEVICE UnitsOfRow(const std::byte* row, std::size_t row_bytes, std::size_t u,
                         std::size_t step) {
    const std::size_t count = dev::packed_units(row_bytes);
    for (int i = 0; i < kUnitsTogether; ++i) {
      const std::size_t unit = u + static_cast<unsigned>(i) * step;
      units[i] = unit < count ? dev::load_unit(row, row_bytes, unit) : 0;
    }
  }
};

// Of a row that all threads of the block see; all of them get it. A zero adds nothing to a sum that
// is none or more, so that what is behind the end may be added, too.
template <class T>
WEFT_DEVICE float sum_of_squares(const std::byte* row, std::size_t row_bytes) {
  float* const partials = dev::shared<float>();
  float* const groups = partials + kPartials;
  const std::size_t units = dev::packed_units(row_bytes);
  for (unsigned p = dev::thread_rank(); p < kPartials; p += dev::block_size()) {
    float sum = 0;
    for (std::size_t u = p; u < units; u += kUnitsTogether * kPartials) {
      const UnitsOfRow some(row, row_bytes, u, kPartials);
      for (const std::uint64_t unit : some.units) {
        const UnitOfRow<T> values(unit);
        for (int i = 0; i < values.kCount; ++i) sum = fmaf(values[i], values[i], sum);
      }
    }
    partials[p] = sum;
  }
  dev::Block{}.sync();
  for (unsigned g = dev::thread_rank(); g < kPartialGroups; g += dev::block_size()) {
    float sum = 0;
    for (unsigned p = 0; p < kPartialsTogether; ++p) sum += partials[g * kPartialsTogether + p];
    groups[g] = sum;
  }
  dev::Block{}.sync();
  float sum = 0;
  for (unsigned g = 0; g < kPartialGroups; ++g) sum += groups[g];
  return sum;
}

// `out` of the sums of one row, which all threads of the block see. Two rows may follow one another
// only with a sync() between.
template <class T>
WEFT_DEVICE void norm_row(const NormCall& norm, std::byte* out, const std::byte* row) {
  const std::size_t units = dev::packed_units(norm.row_bytes), step = dev::block_size();
  const auto load = [&](const std::byte* from, std::size_t u) {
    return UnitsOfRow(from, norm.row_bytes, u, step);
  };
  std::size_t u = dev::thread_rank();
  UnitsOfRow weights = load(norm.weight, u);  // on their way while the squares are added up
  const float mean =
      sum_of_squares<T>(row, norm.row_bytes) / static_cast<float>(norm.hidden) + norm.epsilon;
  const float scale = 1.0f / sqrtf(mean);
  while (u < units) {
    const UnitsOfRow some = load(row, u);
    for (int k = 0; k < kUnitsTogether; ++k) {
      const std::size_t unit = u + static_cast<unsigned>(k) * step;
      UnitOfRow<T> values(some.units[k]);
      const UnitOfRow<T> by(weights.units[k]);
      for (int i = 0; i < values.kCount; ++i) values.set(i, values[i] * scale * by[i]);
      if (unit < units) dev::store_unit(out, norm.row_bytes, unit, values.unit());
    }
    u += kUnitsTogether * step;
    if (u < units) weights = load(norm.weight, u);
  }
}

// In one shot (Sums: FoldPackets) or two (TwoShotPackets): a row to a block.
template <class T, class Sums>
struct NormPackets : Sums {
  NormCall norm;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(this->handle);
    PacketChannel channel(ctx, this->team, this->space, "AllReduceNorm");
    const std::size_t rows = this->m.bytes / norm.row_bytes;
    if (dev::block_rank() >= rows) return;
    bool ok = channel.open();
    for (std::size_t row = dev::block_rank(); ok && row < rows; row += dev::grid_size()) {
      dev::Block{}.sync();  // the sums and the copy of the last row are done with
      const Sums sums = of_row(row);
      const std::size_t units = sums.units(), most = this->space.packet_slot;
      for (std::size_t done = 0; ok && done < units; done += most) {
        channel.enter();
        ok = channel.leave(sums.round(channel, done, smaller(most, units - done)));
      }
      const auto* const copy = reinterpret_cast<const std::byte*>(sums.m.copy);
      if (ok)
        norm_row<T>(norm, norm.out + row * norm.row_bytes, copy != nullptr ? copy : sums.m.out);
    }
    channel.close(ok);
  }

 private:
  WEFT_DEVICE Sums of_row(std::size_t row) const {
    Sums sums = *this;
    sums.m.in += row * norm.row_bytes;
    sums.m.out += row * norm.row_bytes;
    sums.m.addend += row * norm.row_bytes;
    sums.m.bytes = norm.row_bytes;
    if (shared_row_bytes(norm.row_bytes) != 0)
      sums.m.copy = reinterpret_cast<std::uint64_t*>(dev::shared<std::byte>() + kNormSharedBytes);
    return sums;
  }
};

// A piece is as many rows as fit, or a single one, for which the workspace has room.
template <class T>
struct NormBulk : AllReduceBulk<T> {
  NormCall norm;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(this->handle);
    BulkChannel channel(ctx, this->team, this->space);
    const std::size_t most = this->piece * static_cast<std::size_t>(this->team.size);
    const std::size_t rows = most > norm.row_bytes ? most / norm.row_bytes : 1;
    this->pieces(channel, rows * norm.row_bytes, [&](std::size_t at, std::size_t bytes) {
      if (!this->rounds(channel, at, bytes)) return false;
      for (std::size_t row = at; row < at + bytes; row += norm.row_bytes) {
        dev::Block{}.sync();  // the row is there, and the sums of the last are done with
        norm_row<T>(norm, norm.out + row, this->m.out + row);
      }
      return true;
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
