// Variables of other libraries' names, as OpenSHMEM and NVSHMEM know them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace weft {

// Null if it is not set; an empty value counts as not set.
inline const char* variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// Sets it for this process unless it is set: for the log, which reads its own when it first says
// something.
inline void set_default(const char* name, const char* value) {
  if (variable(name) == nullptr) ::setenv(name, value, 1);
}

// "0.5G" in bytes, with a point whatever the locale; negative if it is no size. K, M, G and T are
// powers of 1024. The rest is ignored, as NVSHMEM does: "1GB", "64MiB".
inline double bytes_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !(number > 0)) return -1;
  if (rest == end) return number;
  const std::size_t power = std::string_view("kmgt").find(static_cast<char>(*rest | 0x20));
  if (power == std::string_view::npos) return -1;
  return std::ldexp(number, 10 * (static_cast<int>(power) + 1));
}

}  // namespace weft
