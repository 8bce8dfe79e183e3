// Variables of other libraries' names, as OpenSHMEM and NVSHMEM know them.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

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

// "0.5G" in bytes; negative if it is no size. K, M, G and T are powers of 1024.
inline double bytes_in(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || !(number > 0)) return -1;
  const std::string unit(end);
  if (unit.empty()) return number;
  const std::size_t power = std::string("kmgt").find(static_cast<char>(unit[0] | 0x20));
  if (unit.size() > 1 || power == std::string::npos) return -1;
  return std::ldexp(number, 10 * (static_cast<int>(power) + 1));
}

}  // namespace weft
