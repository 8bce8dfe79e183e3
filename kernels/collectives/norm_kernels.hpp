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

// Partial sums of squares: of units l, l + kPartials, ... each; kTogetherPartials in a row of them
// are added up, and then what these come to.
inline constexpr unsigned kPartials = 512, kPartialsTogether = 16;
inline constexpr std::size_t kNormSharedBytes =
    (kPartials + kPartials / kPartialsTogether) * sizeof(float);

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

// One thread's share of the sums of one row; then all threads of the block have the whole sum. Two
// rows may follow one another only with a sync() between.
template <class T>
WEFT_DEVICE float sum_of_squares(const std::byte* row, std::size_t row_bytes) {
  float* const partials = dev::shared<float>();
  float* const groups = partials + kPartials;
  const std::size_t units = dev::packed_units(row_bytes);
  for (unsigned p = dev::thread_rank(); p < kPartials; p += dev::block_size()) {
    float sum = 0;
    for (std::size_t u = p; u < units; u += kPartials) {
      const UnitOfRow<T> values(dev::load_unit(row, row_bytes, u));
      for (int i = 0; i < values.kCount; ++i) sum = fmaf(values[i], values[i], sum);
    }
    partials[p] = sum;
  }
  dev::Block{}.sync();
  for (unsigned g = dev::thread_rank(); g < kPartials / kPartialsTogether; g += dev::block_size()) {
    float sum = 0;
    for (unsigned p = 0; p < kPartialsTogether; ++p) sum += partials[g * kPartialsTogether + p];
    groups[g] = sum;
  }
  dev::Block{}.sync();
  float sum = 0;
  for (unsigned g = 0; g < kPartials / kPartialsTogether; ++g) sum += groups[g];
  return sum;
}

// `out` of the sums of one row, which all threads of the block see.
template <class T>
WEFT_DEVICE void norm_row(const NormCall& norm, std::byte* out, const std::byte* row) {
  const float mean =
      sum_of_squares<T>(row, norm.row_bytes) / static_cast<float>(norm.hidden) + norm.epsilon;
  const float scale = 1.0f / sqrtf(mean);
  const std::size_t units = dev::packed_units(norm.row_bytes);
  for (std::size_t u = dev::thread_rank(); u < units; u += dev::block_size()) {
    UnitOfRow<T> values(dev::load_unit(row, norm.row_bytes, u));
    const UnitOfRow<T> weights(dev::load_unit(norm.weight, norm.row_bytes, u));
    for (int i = 0; i < values.kCount; ++i) values.set(i, values[i] * scale * weights[i]);
    dev::store_unit(out, norm.row_bytes, u, values.unit());
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
      const Sums sums = of_row(row);
      const std::size_t units = sums.units(), most = this->space.packet_slot;
      for (std::size_t done = 0; ok && done < units; done += most) {
        channel.enter();
        ok = channel.leave(sums.round(channel, done, smaller(most, units - done)));
      }
      if (ok) norm_row<T>(norm, norm.out + row * norm.row_bytes, sums.m.out);
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
