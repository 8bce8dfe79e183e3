#include "host/info/option_list.hpp"

#include <fmt/format.h>

#include <optional>

#include "src/base/environment.hpp"
#include "src/base/option_table.hpp"

namespace weft::info {
namespace {

// A unique id holds the secret that lets a PE into its job; a report is for others to read.
OptionValue without_secret(const OptionRow& row, OptionValue value) {
  if (row.env != "WEFT_UNIQUE_ID" || std::get<std::string>(value).empty()) return value;
  return std::string("(set; not shown, it holds the job's secret)");
}

// The value of one row, and where that comes from.
struct Current {
  std::string value;
  bool from_environment = false;
  std::string problem;  // why the environment's value is not taken
};

Current current_of(const OptionRow& row) {
  const std::string initial = value_text(row.kind, row.initial);
  const std::string text = environment_value(std::string(row.env)).value_or("");
  if (text.empty()) return {initial, false, ""};
  const Result<OptionValue> value = parse_option(row, text);
  if (!value.is_ok()) return {text, true, std::string(value.status().text())};
  return {value_text(row.kind, without_secret(row, *value)), true, ""};
}

std::string shown(const std::string& text) { return text.empty() ? "(empty)" : text; }

nlohmann::json number_or_text(const OptionValue& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

}  // namespace

std::string options_text() {
  std::string out = "* set in the environment\n";
  std::string_view group;
  for (const OptionRow& row : option_table()) {
    if (row.group != group) {
      group = row.group;
      out += fmt::format("\n{}\n", group);
    }
    const Current current = current_of(row);
    const std::string range = range_text(row);
    out += fmt::format("{} {:<20} {}", current.from_environment ? '*' : ' ', row.env,
                       shown(current.value));
    if (current.from_environment) {
      out += fmt::format("   (default {})", shown(value_text(row.kind, row.initial)));
    }
    out += fmt::format("   {}{}{}\n", takes(row.kind), range.empty() ? "" : ": ", range);
    if (!current.problem.empty()) out += fmt::format("      REFUSED: {}\n", current.problem);
    out += fmt::format("      {}\n", row.help);
  }
  return out;
}

nlohmann::json options_json() {
  nlohmann::json out = nlohmann::json::array();
  for (const OptionRow& row : option_table()) {
    const Current current = current_of(row);
    nlohmann::json entry = {
        {"name", row.env},          {"group", row.group},
        {"takes", takes(row.kind)}, {"default", number_or_text(row.initial)},
        {"value", current.value},   {"set_in_environment", current.from_environment},
        {"help", row.help}};
    if (const std::string range = range_text(row); !range.empty()) entry["range"] = range;
    if (!current.problem.empty()) entry["problem"] = current.problem;
    out.push_back(std::move(entry));
  }
  return out;
}

Section options_set() {
  Section section{"options set in the environment", {}};
  for (const auto& [name, value] : environment_with_prefix("WEFT_")) {
    if (value.empty() || is_for_others(name)) continue;
    const OptionRow* row = find_option(name);
    if (row == nullptr) {
      const OptionRow* near = nearest_option(name);
      section.lines.push_back(missing(name, value + ": no option of that name exists",
                                      near == nullptr
                                          ? "weft-info --options lists the known names"
                                          : fmt::format("did you mean {}?", near->env)));
      continue;
    }
    const Current current = current_of(*row);
    section.lines.push_back(current.problem.empty() ? fact(name, current.value)
                                                    : missing(name, current.problem));
  }
  if (section.lines.empty()) section.lines.push_back(fact("none", "every option has its default"));
  return section;
}

}  // namespace weft::info
