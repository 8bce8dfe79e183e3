// The secret of a job, which only its PEs know: 128 random bits in the unique id.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/result.hpp>

namespace weft {

using Secret = std::array<std::byte, 16>;
using Nonce = std::array<std::byte, 16>;  // made for one connection, and never used again

Result<Secret> random_bits();
std::string to_hex(const Secret& secret);
Result<Secret> secret_from_hex(std::string_view text);
// Takes the same time wherever they differ, so a guess cannot be improved byte by byte.
bool same_secret(const Secret& a, const Secret& b);

}  // namespace weft
