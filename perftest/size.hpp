// Sizes as people write and read them: 8, 4k, 1m, 2g.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/result.hpp>

namespace weft::perf {

// Digits, then at most one of k, m, g, t (powers of 1024, either case), then perhaps b or ib.
Result<std::uint64_t> parse_size(std::string_view text);

// "8", "4k", "1m": exact, so that what is printed can be typed; plain digits if nothing fits.
std::string format_size(std::uint64_t bytes);

}  // namespace weft::perf
