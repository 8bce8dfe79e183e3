#include "perftest/size.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace weft::perf {
namespace {

constexpr std::string_view kUnits = "kmgt";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Status bad_size(std::string_view text, std::string_view why) {
  return Status::error(Code::kInvalidArgument,
                       fmt::format("'{}' is no size: {} (write 8, 64k, 4m, 1g or 1t)", text, why));
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return bad_size(text, "too large");
  if (error != std::errc() || rest == text.data()) return bad_size(text, "no number");

  std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  int shift = 0;
  if (!suffix.empty()) {
    if (const auto unit = kUnits.find(lower(suffix.front())); unit != kUnits.npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      suffix.remove_prefix(1);
      if (suffix == "ib" || suffix == "iB") suffix.remove_prefix(2);
    }
    if (suffix == "b" || suffix == "B") suffix.remove_prefix(1);
    if (!suffix.empty()) return bad_size(text, fmt::format("unknown unit '{}'", suffix));
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift))
    return bad_size(text, "too large");
  return value << shift;
}

std::string format_size(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (unit < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kUnits[unit - 1]);
}

}  // namespace weft::perf
