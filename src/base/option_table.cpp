#include "src/base/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/option_values.hpp"

namespace weft {
namespace {

template <auto Field>
using FieldType = std::remove_reference_t<decltype(std::declval<Options&>().*Field)>;

template <auto Field, class Low, class High>
OptionRow make_row(std::string_view field, std::string_view env, OptionKind kind, Low low,
                   High high, std::string_view group, std::string_view help) {
  using Value = FieldType<Field>;
  OptionRow row{field, env, group, help, kind, OptionValue(Options{}.*Field), {}, {}, {}, {}, {}};
  if constexpr (std::is_arithmetic_v<Value>) {
    row.low = static_cast<Value>(low);
    row.high = static_cast<Value>(high);
  } else {
    row.choices = low;
  }
  row.get = [](const Options& options) { return OptionValue(options.*Field); };
  row.put = [](Options& options, OptionValue value) {
    options.*Field = std::get<Value>(std::move(value));
  };
  return row;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

// How many letters must be added, dropped or changed (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

Result<OptionValue> parse_value(const OptionRow& row, std::string_view text) {
  const auto lift = [](auto result) -> Result<OptionValue> {
    if (!result.is_ok()) return result.status();
    return OptionValue(*result);
  };
  switch (row.kind) {
    case OptionKind::kBool: return lift(parse_bool(text));
    case OptionKind::kInt: return lift(parse_int(text));
    case OptionKind::kBytes: return lift(parse_bytes(text));
    case OptionKind::kSeconds: return lift(parse_seconds(text));
    case OptionKind::kEnum:
      for (const std::string_view choice : split(row.choices, '|')) {
        if (choice == text) return OptionValue(std::string(text));
      }
      return Status::error(Code::kInvalidArgument,
                           fmt::format("'{}' is not among the choices", text));
    case OptionKind::kLevels: RETURN_IF_ERROR(check_log_levels(text)); [[fallthrough]];
    case OptionKind::kText: return OptionValue(std::string(text));
  }
  return Status::error(Code::kInternal, "an option of unknown kind");
}

bool has_bounds(OptionKind kind) {
  return kind == OptionKind::kInt || kind == OptionKind::kBytes || kind == OptionKind::kSeconds;
}

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "(empty)" : "`" + text + "`"; }

}  // namespace

std::span<const OptionRow> option_table() {
  static const std::vector<OptionRow> table = {
#define WEFT_OPTION(field, env, kind, initial, low, high, group, help) \
  make_row<&Options::field>(#field, env, OptionKind::kind, low, high, #group, help),
#include <weft/tables/options.def.h>
  };
  return table;
}

const OptionRow* find_option(std::string_view env) {
  for (const OptionRow& row : option_table()) {
    if (row.env == env) return &row;
  }
  return nullptr;
}

const OptionRow* nearest_option(std::string_view env) {
  const OptionRow* nearest = nullptr;
  std::size_t least = 1 + std::max<std::size_t>(2, env.size() / 4);  // farther is no likeness
  for (const OptionRow& row : option_table()) {
    const std::size_t distance = edit_distance(env, row.env);
    if (distance < least) {
      least = distance;
      nearest = &row;
    }
  }
  return nearest;
}

std::string_view takes(OptionKind kind) {
  switch (kind) {
    case OptionKind::kBool: return "yes or no";
    case OptionKind::kInt: return "number";
    case OptionKind::kBytes: return "size";
    case OptionKind::kSeconds: return "time";
    case OptionKind::kText: return "text";
    case OptionKind::kEnum: return "choice";
    case OptionKind::kLevels: return "levels";
  }
  return "";
}

std::string range_text(const OptionRow& row) {
  if (has_bounds(row.kind)) {
    return value_text(row.kind, row.low) + " to " + value_text(row.kind, row.high);
  }
  if (row.kind != OptionKind::kEnum) return "";
  std::string out;
  const std::vector<std::string_view> choices = split(row.choices, '|');
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

std::string value_text(OptionKind kind, const OptionValue& value) {
  switch (kind) {
    case OptionKind::kBool: return std::get<bool>(value) ? "1" : "0";
    case OptionKind::kInt: return std::to_string(std::get<std::int64_t>(value));
    case OptionKind::kBytes: return format_bytes(std::get<std::uint64_t>(value));
    case OptionKind::kSeconds: return format_seconds(std::get<double>(value));
    default: return std::get<std::string>(value);
  }
}

Result<OptionValue> parse_option(const OptionRow& row, std::string_view text) {
  Result<OptionValue> value = parse_value(row, text);
  const std::string range = range_text(row);
  const std::string accepted = range.empty() ? "" : fmt::format("; {} takes {}", row.env, range);
  if (!value.is_ok()) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: {}{}", row.env, value.status().text(), accepted));
  }
  if (has_bounds(row.kind) && (*value < row.low || row.high < *value)) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: {} is out of range{}", row.env, text, accepted));
  }
  return value;
}

std::string options_markdown() {
  std::string out =
      "# Options\n\n"
      "<!-- Made by `weft-info --options --markdown` from include/weft/tables/options.def.h. "
      "-->\n\n"
      "Read from the environment by `Runtime::create()`, or set in a `weft::Options`. A value of "
      "the\n"
      "wrong form or out of range is an error that says what is accepted; an unknown `WEFT_*` name "
      "is\n"
      "warned about, with the nearest known one. An empty value counts as not set.\n\n"
      "- **size**: bytes, or with `k`, `m`, `g`, `t` (powers of 1024): `65536`, `64k`, `1GiB`.\n"
      "- **time**: seconds, or with `ms`, `s`, `m`, `h`: `0.5`, `250ms`, `2m`.\n"
      "- **yes or no**: `1`, `true`, `yes`, `on`; `0`, `false`, `no`, `off`.\n"
      "- **levels**: `error`, `warn`, `info`, `debug` or `trace`, then `subsystem:level` pairs.\n";
  std::string_view group;
  for (const OptionRow& row : option_table()) {
    if (row.group != group) {
      group = row.group;
      out += fmt::format(
          "\n## {}\n\n| Variable | Takes | Default | Range | Meaning |\n"
          "| --- | --- | --- | --- | --- |\n",
          group);
    }
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", row.env, takes(row.kind),
                    code(value_text(row.kind, row.initial)), cell(range_text(row)), cell(row.help));
  }
  return out;
}

}  // namespace weft
