// The report of weft-info: sections of lines, shown as text for people or as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace weft::info {

enum class Mark { kPlain, kYes, kNo };  // a fact; a capability that is there, or is not

struct Line {
  std::string name;
  std::string value;
  Mark mark = Mark::kPlain;
  std::string mend;               // of what is not there: what to do about it
  nlohmann::json data = nullptr;  // what JSON shows instead of value: a number, a list
};

Line fact(std::string name, std::string value, nlohmann::json data = nullptr);
Line there(std::string name, std::string value);
Line missing(std::string name, std::string why, std::string mend = "");

struct Section {
  std::string title;
  std::vector<Line> lines;
};

std::string as_text(std::span<const Section> sections);
// {"build": {"compiler": "...", ...}, "capabilities": {"huge_pages": {"available": false, ...}}}
nlohmann::json as_json(std::span<const Section> sections);

}  // namespace weft::info
