#include "host/info/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::info {
namespace {

std::string key(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

const char* sign(Mark mark) {
  switch (mark) {
    case Mark::kYes: return "+ ";
    case Mark::kNo: return "- ";
    default: return "  ";
  }
}

constexpr std::size_t kWidth = 110;

// A long text, or one of several lines, stays in its column: what follows the first line is
// indented, and lines break between words.
std::string wrapped(std::string_view text, std::size_t column) {
  std::string out;
  std::size_t at = column;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (at > column && at + end > kWidth) {
      out.back() = '\n';  // instead of the space
      out.append(column, ' ');
      at = column;
    }
    out += text.substr(0, std::min(end + 1, text.size()));
    at += end + 1;
    if (end < text.size() && text[end] == '\n') {
      out.append(column, ' ');
      at = column;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

nlohmann::json value_of(const Line& line) {
  if (line.mark == Mark::kPlain)
    return line.data.is_null() ? nlohmann::json(line.value) : line.data;
  nlohmann::json out = {{"available", line.mark == Mark::kYes}, {"detail", line.value}};
  if (!line.mend.empty()) out["mend"] = line.mend;
  return out;
}

}  // namespace

Line fact(std::string name, std::string value, nlohmann::json data) {
  return {std::move(name), std::move(value), Mark::kPlain, "", std::move(data)};
}

Line there(std::string name, std::string value) {
  return {std::move(name), std::move(value), Mark::kYes, "", nullptr};
}

Line missing(std::string name, std::string why, std::string mend) {
  return {std::move(name), std::move(why), Mark::kNo, std::move(mend), nullptr};
}

std::string as_text(std::span<const Section> sections) {
  std::size_t width = 0;
  for (const Section& section : sections) {
    for (const Line& line : section.lines) width = std::max(width, line.name.size());
  }
  const std::size_t column = width + 6;  // where values begin
  std::string out;
  for (const Section& section : sections) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", section.title);
    for (const Line& line : section.lines) {
      out += fmt::format("  {}{:<{}}  {}\n", sign(line.mark), line.name, width,
                         wrapped(line.value, column));
      if (!line.mend.empty()) {
        out += fmt::format("{:{}}mend: {}\n", "", column, wrapped(line.mend, column + 6));
      }
    }
  }
  return out;
}

nlohmann::json as_json(std::span<const Section> sections) {
  nlohmann::json out = nlohmann::json::object();
  for (const Section& section : sections) {
    nlohmann::json& object = out[key(section.title)] = nlohmann::json::object();
    for (const Line& line : section.lines) object[key(line.name)] = value_of(line);
  }
  return out;
}

}  // namespace weft::info
