// Text to value and back, for every kind of option. Pure; errors say what is accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.hpp"

namespace weft {

Result<bool> parse_bool(std::string_view text);            // 1, true, yes, on; 0, false, no, off
Result<std::int64_t> parse_int(std::string_view text);     // decimal
Result<std::uint64_t> parse_bytes(std::string_view text);  // 512, 64k, 64KiB, 1g: powers of 1024
Result<double> parse_seconds(std::string_view text);       // 2, 0.5, 250ms, 2s, 5m, 1h

std::string format_bytes(std::uint64_t bytes);  // the largest unit that divides: 16g
std::string format_seconds(double seconds);     // 250ms, 60s, 24h

}  // namespace weft
