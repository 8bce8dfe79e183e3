// The table of options as data: what the parser, weft-info and the reference page walk over.
#pragma once

#include <weft/options.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace weft {

enum class OptionKind { kBool, kInt, kBytes, kSeconds, kText, kEnum, kLevels };

using OptionValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

struct OptionRow {
  std::string_view field, env, group, help;
  OptionKind kind;
  OptionValue initial, low, high;  // low, high: of numbers only
  std::string_view choices;        // of kEnum only: "a|b|c"
  OptionValue (*get)(const Options& options);
  void (*put)(Options& options, OptionValue value);
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(std::string_view env);

// No misspelt options: WEFT_TEST_*, which tests read, such as the seed of a run; and where Weft is
// installed, for makefiles and for CMake (WEFT_ROOT).
inline bool is_for_others(std::string_view env) {
  for (const std::string_view place : {"PREFIX", "ROOT", "HOME", "DIR", "PATH"})
    if (env.substr(std::string_view("WEFT_").size()) == place) return true;
  return env.starts_with("WEFT_TEST_");
}

// The known name that is most like `env`, or null when none is.
const OptionRow* nearest_option(std::string_view env);

std::string_view takes(OptionKind kind);       // what to write: "size", "time", "one of"
std::string range_text(const OptionRow& row);  // "1 to 4096", "auto, on or off", ""
std::string value_text(OptionKind kind, const OptionValue& value);

// The value in its kind's form and within its range; the error names variable and value.
Result<OptionValue> parse_option(const OptionRow& row, std::string_view text);

// docs/reference/options.md
std::string options_markdown();

}  // namespace weft
