// Messages of the library that several PEs write alike: one cause, which is shown once.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::run {

class Repeats {
 public:
  // Whether a line of the PE's standard error repeats a warning or an error that another PE wrote
  // first. Indented lines behind such a one belong to it.
  bool is_repeat(int pe, std::string_view line);
  // A line for each message that was repeated: who wrote it, too, and how it begins.
  std::vector<std::string> summary() const;

 private:
  static constexpr std::size_t kMostMessages = 1000;  // what comes behind them is shown
  struct Writers {
    int first;
    std::set<int> others;
  };
  std::map<std::string, Writers, std::less<>> messages_;  // without their PE
  std::set<int> inside_;  // PEs whose last line was of a repeated message
};

}  // namespace weft::run
