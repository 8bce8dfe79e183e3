// Sums of the squares of a row's elements, in an order that the row's length alone decides: an
// element behind the other in units of 8 bytes; in a chunk of 64 units neighbours by twos, their
// sums by twos, and so on; and one chunk behind the other.
//
// Blocks that share a row send each other the sums of their chunks by LL within the GPU. The flag
// is a count of rows that all blocks of the grid keep alike, those that have no part, too; so a
// grid always has as many blocks. Staging is there twice: whoever has the sums of count c has left
// count c - 1, and what it has in staging of c - 1 may be overwritten.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/workspace.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

inline constexpr unsigned kLanes = 16, kChunksTogether = 32;
inline constexpr std::size_t kRowSumsBytes =
    (kChunksTogether * (kUnitsOfChunk + kLanes) + kMostChunks) * sizeof(float);
// Units of a row that a thread has under way, if it has more than one: then so many, behind one
// another, cost less than their waits; if not, a kernel for one has less code to go through.
inline constexpr int kUnitsTogether = 4;

// Neighbours by twos, their sums by twos, and so on.
template <int kMany>
WEFT_DEVICE float sum_by_twos(const float* values) {
  if constexpr (kMany == 1)
    return values[0];
  else
    return sum_by_twos<kMany / 2>(values) + sum_by_twos<kMany / 2>(values + kMany / 2);
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
  WEFT_DEVICE float squares() const {
    float sum = 0;
    for (int i = 0; i < kCount; ++i) sum = fmaf((*this)[i], (*this)[i], sum);
    return sum;
  }

 private:
  T elements_[kCount];
};

// Units u, u + step, ... of a row, before any of them is looked at; zeros behind its end.
template <int kUnits>
struct UnitsOfRow {
  std::uint64_t units[kUnits];
  WEFT_DEVICE UnitsOfRow(const std::byte* row, std::size_t bytes, std::size_t u, std::size_t step) {
    const std::size_t count = dev::packed_units(bytes);
    for (int i = 0; i < kUnits; ++i) {
      const std::size_t unit = u + static_cast<unsigned>(i) * step;
      units[i] = unit < count ? dev::load_unit(row, bytes, unit) : 0;
    }
  }
};

// Takes kRowSumsBytes of `shared` memory. All threads of the block call everything; two calls need
// a sync() between.
template <class T, int kUnits>
class RowSums {
 public:
  WEFT_DEVICE RowSums(const dev::Context& ctx, const Workspace& space, unsigned split,
                      std::byte* shared)
      : ctx_(ctx), space_(space), split_(split), first_(space.rounds[dev::block_rank()].sums) {
    partials_ = reinterpret_cast<float*>(shared);
    lanes_ = partials_ + kChunksTogether * kUnitsOfChunk;
    sums_ = lanes_ + kChunksTogether * kLanes;
  }
  RowSums(const RowSums&) = delete;
  RowSums& operator=(const RowSums&) = delete;

  WEFT_DEVICE float of_whole_row(const std::byte* row, std::size_t bytes) const {
    float sum = 0;
    const std::size_t chunks = chunks_of_row(bytes);
    for (std::size_t first = 0; first < chunks; first += kMostChunks) {
      if (first != 0) dev::Block{}.sync();
      const std::size_t some = chunks - first < kMostChunks ? chunks - first : kMostChunks;
      sum_chunks(row, bytes, first, static_cast<unsigned>(some));
      sum = added(sum, static_cast<unsigned>(some));
    }
    return sum;
  }
  // The sum of my `bytes`, which begin at `begin` of the row, and of those of the others of my
  // group; the count-th time in this call. False: gave up.
  WEFT_DEVICE bool of_row(const std::byte* mine, std::size_t bytes, std::size_t begin,
                          std::size_t row_bytes, std::uint64_t count, float* sum) const {
    if (split_ == 1) {
      *sum = of_whole_row(mine, bytes);
      return true;
    }
    const unsigned chunks = chunks_of_row(bytes), all = chunks_of_row(row_bytes);
    const std::size_t before = begin / (8 * kUnitsOfChunk);
    dev::LLPacket* const slot = slots(first_ + count);
    const std::uint32_t flag = flag_of(first_ + count);
    sum_chunks(mine, bytes, 0, chunks);
    pause(Point::kBeforeData);
    for (unsigned c = dev::thread_rank(); c < chunks; c += dev::block_size())
      dev::send_ll(slot + before + c, bits_of(sums_[c]), flag);
    dev::Block{}.sync();  // before what comes takes the place of these
    pause(Point::kBeforeWait);
    bool ok = true;
    for (unsigned c = dev::thread_rank(); ok && c < all; c += dev::block_size()) {
      std::uint64_t bits[1] = {};
      const auto awaited = [&](int) -> dev::AwaitedLL { return {slot + c, ctx_.pe()}; };
      ok = dev::receive_ll<1>(ctx_, "AllReduceNorm", awaited, flag, bits);
      sums_[c] = float_of(bits[0]);
    }
    ok = dev::Block{}.all(ok);
    *sum = added(0, all);
    return ok;
  }
  // The call is over, in which each group had so many rows at most.
  WEFT_DEVICE void close(std::uint64_t rows) const {
    dev::Block{}.sync();  // all threads know the count of before
    if (dev::thread_rank() == 0) space_.rounds[dev::block_rank()].sums = first_ + rows;
  }

 private:
  // Never 0, and another one than any that the slot has had in the last 2^32 counts.
  static WEFT_DEVICE std::uint32_t flag_of(std::uint64_t count) {
    return static_cast<std::uint32_t>(1 + count % (~std::uint32_t{0} - 1));
  }
  static WEFT_DEVICE std::uint64_t bits_of(float value) {
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  static WEFT_DEVICE float float_of(std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    float value;
    memcpy(&value, &low, sizeof(value));
    return value;
  }
  // The slots of my group.
  WEFT_DEVICE dev::LLPacket* slots(std::uint64_t count) const {
    const std::size_t group = dev::block_rank() / split_;
    return space_.sums + ((count & 1) * space_.channels + group) * kMostChunks;
  }

  // Chunks first ... of `row` to sums_, which all threads then see.
  WEFT_DEVICE void sum_chunks(const std::byte* row, std::size_t bytes, std::size_t first,
                              unsigned chunks) const {
    for (unsigned done = 0; done < chunks; done += kChunksTogether) {
      const unsigned some = chunks - done < kChunksTogether ? chunks - done : kChunksTogether;
      const std::size_t begin = (first + done) * kUnitsOfChunk;
      const unsigned units = some * kUnitsOfChunk, step = dev::block_size();
      for (unsigned u = dev::thread_rank(); u < units; u += kUnits * step) {
        const UnitsOfRow<kUnits> loaded(row, bytes, begin + u, step);
        for (int k = 0; k < kUnits; ++k) {
          const unsigned unit = u + static_cast<unsigned>(k) * step;
          if (unit < units) partials_[unit] = UnitOfRow<T>(loaded.units[k]).squares();
        }
      }
      dev::Block{}.sync();
      for (unsigned l = dev::thread_rank(); l < some * kLanes; l += step)
        lanes_[l] = sum_by_twos<kUnitsOfChunk / kLanes>(partials_ + l * (kUnitsOfChunk / kLanes));
      dev::Block{}.sync();
      for (unsigned c = dev::thread_rank(); c < some; c += step)
        sums_[done + c] = sum_by_twos<kLanes>(lanes_ + c * kLanes);
    }
    dev::Block{}.sync();
  }
  WEFT_DEVICE float added(float sum, unsigned chunks) const {
    for (unsigned c = 0; c < chunks; ++c) sum += sums_[c];
    return sum;
  }

  const dev::Context& ctx_;
  const Workspace& space_;
  const unsigned split_;
  const std::uint64_t first_;
  float *partials_, *lanes_, *sums_;
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
