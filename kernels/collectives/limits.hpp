// What plans may ask for.
#pragma once

#include <weft/kernels/plan.hpp>

namespace weft::kernels {

inline constexpr unsigned kMostBlocks = 1024;
inline constexpr unsigned kMostThreadsOfBlock = 512;  // that kernels are compiled for

// kAuto is none.
bool has_algorithm(Collective what, Algorithm algorithm);

}  // namespace weft::kernels
