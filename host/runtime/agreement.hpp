// Facts that all PEs of a job must have alike, compared when they meet. Pure.
#pragma once

#include <span>
#include <string>

#include <weft/options.hpp>
#include <weft/status.hpp>

#include "bootstrap/bootstrap.hpp"

namespace weft {

// "library version=0.1.0\nWEFT_HEAP_SIZE=...\n": text, so that other versions of Weft can read it.
std::string agreement_of(const Options& options);

// kVersionMismatch or kInvalidArgument, naming the PE and both values, unless all are equal.
// Compares with PE 0, so that every PE comes to the same answer.
Status check_agreement(std::span<const std::string> all);

}  // namespace weft
