// Where pages of a mapping come from: their size and their NUMA node.
#pragma once

#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft::cpu {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
static_assert(kReserveAlign % kHugePage == 0, "a reservation begins on a huge page");

// Asks for huge pages as `hints` say and the system allows. True when they were asked for; an error
// only when they are needed.
Result<bool> use_huge_pages(Range range, const MemoryHints& hints);

// Prefers the NUMA node that the calling thread runs on. A wish: no failure if the system refuses.
void prefer_local_node(Range range);

}  // namespace weft::cpu
