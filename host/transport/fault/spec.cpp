#include "host/transport/fault/spec.hpp"

#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

namespace {

std::string known_keys() {
  std::string text;
#define FAULT_KEY(name, type, initial, low, high, help) \
  text += fmt::format("\n  {:<11} {} ({} to {})", #name, help, low, high);
  WEFT_FAULT_KEYS(FAULT_KEY)
#undef FAULT_KEY
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <class T>
Status set_key(std::string_view name, std::string_view text, double low, double high, T& field) {
  std::conditional_t<std::is_same_v<T, bool>, int, T> value{};
  const bool parsed = parse_number(text, value);
  // Written so that a NaN is out of range.
  const bool in_range =
      parsed && static_cast<double>(value) >= low && static_cast<double>(value) <= high;
  if (!in_range)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("WEFT_FAULT: {}={} is not a number from {} to {}", name, text, low, high));
  field = static_cast<T>(value);
  return Status::ok();
}

Status set_pair(FaultSpec& spec, std::string_view pair) {
  const std::size_t equals = pair.find('=');
  const std::string_view name = pair.substr(0, equals);
  if (equals == std::string_view::npos)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("WEFT_FAULT: '{}' is not of the form key=value; known keys:{}",
                                     pair, known_keys()));
  const std::string_view value = pair.substr(equals + 1);
#define FAULT_KEY(key, type, initial, low, high, help) \
  if (name == #key) return set_key(name, value, low, high, spec.key);
  WEFT_FAULT_KEYS(FAULT_KEY)
#undef FAULT_KEY
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("WEFT_FAULT: key '{}' does not exist; known keys:{}", name, known_keys()));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Result<FaultSpec> parse_fault_spec(std::string_view text) {
  FaultSpec spec;
  while (!trim(text).empty()) {
    const std::size_t comma = text.find(',');
    RETURN_IF_ERROR(set_pair(spec, trim(text.substr(0, comma))));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return spec;
}

}  // namespace weft
