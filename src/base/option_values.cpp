#include "src/base/option_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace weft {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

Status refused(std::string_view text, std::string_view why) {
  return Status::error(Code::kInvalidArgument, fmt::format("'{}' {}", text, why));
}

// The number at the start of `text`, which loses it.
template <class T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

constexpr std::string_view kByteUnits = "kmgt";  // each 1024 times the one before

// How far to shift for a unit: "", "b", "k", "kb", "kib" and so on; negative when it is none.
int shift_of(std::string_view unit) {
  if (unit.empty() || unit == "b") return 0;
  const std::size_t power = kByteUnits.find(unit[0]);
  const std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return -1;
  return 10 * (static_cast<int>(power) + 1);
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array<TimeUnit, 5> kTimeUnits = {
    {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}};

}  // namespace

Result<bool> parse_bool(std::string_view text) {
  const std::string word = lowered(text);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  return refused(text, "is neither yes nor no; accepted: 1, true, yes, on, 0, false, no, off");
}

Result<std::int64_t> parse_int(std::string_view text) {
  std::string_view rest = text;
  std::int64_t value = 0;
  if (!take_number(rest, value) || !rest.empty()) {
    return refused(text, "is no whole number that fits in 64 bits");
  }
  return value;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  std::uint64_t value = 0;
  if (!take_number(rest, value)) {
    return refused(text, "is no size; accepted: bytes, or with k, m, g or t, as in 64k or 1GiB");
  }
  const int shift = shift_of(lowered(rest));
  if (shift < 0)
    return refused(text, fmt::format("has no known unit '{}'; accepted: k, m, g, t", rest));
  if (value > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return refused(text, "does not fit in 64 bits");
  }
  return value << shift;
}

Result<double> parse_seconds(std::string_view text) {
  std::string_view rest = text;
  double value = 0;
  if (!take_number(rest, value) || !std::isfinite(value) || value < 0) {
    return refused(text, "is no time; accepted: seconds, or with ms, s, m or h, as in 250ms or 2m");
  }
  const std::string unit = lowered(rest);
  for (const TimeUnit& known : kTimeUnits) {
    if (known.name == unit) return value * known.seconds;
  }
  return refused(text, fmt::format("has no known unit '{}'; accepted: ms, s, m, h", rest));
}

std::string format_bytes(std::uint64_t bytes) {
  for (std::size_t power = kByteUnits.size(); power > 0 && bytes > 0; --power) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * power);
    if (bytes % unit == 0) return fmt::format("{}{}", bytes / unit, kByteUnits[power - 1]);
  }
  return std::to_string(bytes);
}

std::string format_seconds(double seconds) {
  if (seconds > 0 && seconds < 1) return fmt::format("{:.6g}ms", seconds * 1e3);
  if (seconds >= 3600 && std::fmod(seconds, 3600) == 0)
    return fmt::format("{:.15g}h", seconds / 3600);
  return fmt::format("{:.15g}s", seconds);
}

}  // namespace weft
