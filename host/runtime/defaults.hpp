// Sizes of the heap that nobody chose shrink to what there is.
#pragma once

#include <vector>

#include <weft/options.hpp>

#include "host/topology/facts.hpp"

namespace weft {

// Makes heap_size, heap_chunk and adopt_size smaller, if they have their defaults, where a PE has
// little memory, or little address space for its own heap and its peers'. Every PE gives the
// same facts and so gets the same sizes.
void shrink_defaults(Options& options, const std::vector<Facts>& facts);

}  // namespace weft
