// Elements of a sum of all PEs' products, in double: what decides where two ways that round
// differently are apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/weft.hpp>

namespace weft::perf::fused {

// The operands of one PE, on its GPU, bfloat16: a[rows, k], b[columns, k].
struct Operands {
  const std::uint16_t *a, *b;
  std::size_t k;
};
struct Element {
  std::uint64_t row, column;
};
// The sum over all PEs of what each has of an element, and of the magnitudes of that.
struct Exact {
  double sum = 0, terms = 0;
  // How far a result may be from it whose terms were rounded to bfloat16, added as floats, and
  // rounded. A rounding takes up to 2^-8 of what is rounded, and floats' leave some of that room.
  double error() const;
};

// Collective; as many elements on all PEs, each its own.
Result<std::vector<Exact>> exact_sums(Runtime& rt, const Operands& operands,
                                      const std::vector<Element>& elements);

}  // namespace weft::perf::fused
