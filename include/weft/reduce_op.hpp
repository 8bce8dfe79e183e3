// Operators of reductions and scans.
#pragma once

#include <cstdint>

namespace weft {

enum class ReduceOp : std::uint8_t { kSum, kProd, kMin, kMax, kAnd, kOr, kXor };

}  // namespace weft
