// Reductions of vectors, in the order in which they are given: rank order everywhere, so that every
// member gets the same bits. Floats of two bytes are folded as float and rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/device.hpp>
#include <weft/reduce_op.hpp>
#include <weft/small_float.hpp>

namespace weft::kernels {
namespace WEFT_TARGET {

// How a T is folded: as what, to and fro.
template <class T, bool kIsSmall = SmallFloat<T>::value>
struct Folded {
  using type = T;
  static WEFT_HOST_DEVICE T widen(T value) { return value; }
  static WEFT_HOST_DEVICE T narrow(T value) { return value; }
};
template <class T>
struct Folded<T, true> {
  using type = float;
  static WEFT_HOST_DEVICE float widen(T value) { return SmallFloat<T>::widen(value); }
  static WEFT_HOST_DEVICE T narrow(float value) { return SmallFloat<T>::narrow(value); }
};

// NVIDIA's additions give one NaN. Elsewhere a NaN keeps an operand's bits: of which operand, a
// compiler decides for each place where it adds, so members could end with different bits.
template <class Float>
WEFT_HOST_DEVICE Float with_one_nan(Float sum) {
#if !WEFT_TARGET_CUDA
  if (sum != sum) return static_cast<Float>(__builtin_nanf(""));
#endif
  return sum;
}

// A minimum and maximum keep what they have unless the next is smaller or larger. Integers wrap.
template <class Wide>
WEFT_HOST_DEVICE Wide folded(ReduceOp op, Wide have, Wide next) {
  if (op == ReduceOp::kMin) return next < have ? next : have;
  if (op == ReduceOp::kMax) return have < next ? next : have;
  if constexpr (std::is_integral_v<Wide>)
    return static_cast<Wide>(static_cast<std::uint32_t>(have) + static_cast<std::uint32_t>(next));
  else
    return with_one_nan(have + next);
}

// 8 bytes of elements.
template <class T>
class FoldOfUnit {
 public:
  WEFT_HOST_DEVICE void add(ReduceOp op, bool is_first, std::uint64_t unit) {
    T elements[kCount];
    memcpy(elements, &unit, sizeof(unit));
    for (int i = 0; i < kCount; ++i) {
      const Wide wide = Folded<T>::widen(elements[i]);
      values_[i] = is_first ? wide : folded(op, values_[i], wide);
    }
  }
  WEFT_HOST_DEVICE std::uint64_t result() const {
    T elements[kCount];
    for (int i = 0; i < kCount; ++i) elements[i] = Folded<T>::narrow(values_[i]);
    std::uint64_t unit;
    memcpy(&unit, elements, sizeof(unit));
    return unit;
  }

 private:
  using Wide = typename Folded<T>::type;
  static constexpr int kCount = static_cast<int>(sizeof(std::uint64_t) / sizeof(T));
  Wide values_[kCount] = {};
};

// 16 bytes, loaded and stored at once; it may alias whatever lies there.
struct __attribute__((may_alias)) Vector {
  alignas(16) std::uint64_t low;
  std::uint64_t high;
};
// So many loads of a thread are under way before it folds: a GPU's memory is far away.
inline constexpr int kVectorsTogether = 4, kSourcesTogether = 2;

WEFT_HOST_DEVICE bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Vector) == 0;
}

template <class T>
struct FoldOfVector {
  FoldOfUnit<T> low, high;
  WEFT_DEVICE void add(ReduceOp op, bool is_first, const Vector& part) {
    low.add(op, is_first, part.low);
    high.add(op, is_first, part.high);
  }
  WEFT_DEVICE Vector result() const { return {low.result(), high.result()}; }
};

// The result of a fold goes to one buffer.
struct ToBuffer {
  std::byte* out;
  WEFT_DEVICE bool is_in_vectors() const { return is_aligned(out); }
  WEFT_DEVICE void vector(std::size_t index, const Vector& result) const {
    reinterpret_cast<Vector*>(out)[index] = result;
  }
  // Stores unit `index` of a message of so many bytes.
  WEFT_DEVICE void unit(std::size_t bytes, std::size_t index, std::uint64_t result) const {
    dev::store_unit(out, bytes, index, result);
  }
};

// Vectors rank, rank + size, ... of the block's threads.
template <class T, ReduceOp kOp, class To, class Source>
WEFT_DEVICE void fold_vectors(const To& to, int count, Source source, std::size_t vectors) {
  const std::size_t step = dev::block_size();
  for (std::size_t first = dev::thread_rank(); first < vectors; first += kVectorsTogether * step) {
    const auto is_there = [&](int v) { return first + static_cast<unsigned>(v) * step < vectors; };
    FoldOfVector<T> folds[kVectorsTogether];
    for (int s = 0; s < count; s += kSourcesTogether) {
      Vector parts[kSourcesTogether][kVectorsTogether] = {};
      for (int k = 0; k < kSourcesTogether; ++k) {
        if (s + k >= count) continue;
        const auto* const from = reinterpret_cast<const Vector*>(source(s + k)) + first;
        for (int v = 0; v < kVectorsTogether; ++v)
          if (is_there(v)) parts[k][v] = from[static_cast<unsigned>(v) * step];
      }
      for (int k = 0; k < kSourcesTogether; ++k) {
        if (s + k >= count) continue;
        for (int v = 0; v < kVectorsTogether; ++v) folds[v].add(kOp, s + k == 0, parts[k][v]);
      }
    }
    for (int v = 0; v < kVectorsTogether; ++v)
      if (is_there(v)) to.vector(first + static_cast<unsigned>(v) * step, folds[v].result());
  }
}

// [0 .. bytes) of source(0), source(1), ... source(count - 1), by all threads of the block. Where
// it goes may be one of them.
template <class T, class To, class Source>
WEFT_DEVICE void fold_block_to(ReduceOp op, const To& to, int count, Source source,
                               std::size_t bytes) {
  bool aligned = to.is_in_vectors();
  for (int s = 0; s < count; ++s) aligned = aligned && is_aligned(source(s));
  const std::size_t vectors = aligned ? bytes / sizeof(Vector) : 0;
  // Known where it is compiled, or each element would ask for it.
  if (op == ReduceOp::kMin)
    fold_vectors<T, ReduceOp::kMin>(to, count, source, vectors);
  else if (op == ReduceOp::kMax)
    fold_vectors<T, ReduceOp::kMax>(to, count, source, vectors);
  else
    fold_vectors<T, ReduceOp::kSum>(to, count, source, vectors);
  const std::size_t units = dev::packed_units(bytes);
  for (std::size_t u = 2 * vectors + dev::thread_rank(); u < units; u += dev::block_size()) {
    FoldOfUnit<T> fold;
    for (int s = 0; s < count; ++s) fold.add(op, s == 0, dev::load_unit(source(s), bytes, u));
    to.unit(bytes, u, fold.result());
  }
}
template <class T, class Source>
WEFT_DEVICE void fold_block(ReduceOp op, std::byte* out, int count, Source source,
                            std::size_t bytes) {
  fold_block_to<T>(op, ToBuffer{out}, count, source, bytes);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
