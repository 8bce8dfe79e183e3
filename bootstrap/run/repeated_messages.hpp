// Warnings and errors of the library that several PEs write alike: one cause, which is shown once.
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
  enum class Line {
    kProgram,  // not a message of the library, or one of a lower level
    kMessage,  // a warning or an error
    kRepeat,   // of one that another PE wrote first: the same but for the PE and the time waited
  };
  // Sorts a line of the PE's standard error. Indented lines behind a message belong to it.
  Line look(int pe, std::string_view line);
  // A line for each message that was repeated: who wrote it, too, and how it begins.
  std::vector<std::string> summary() const;

 private:
  static constexpr std::size_t kMostMessages = 1000;  // what comes behind them is shown
  struct Message {
    int first;  // who wrote it so
    std::string text;
    std::set<int> others;
  };
  Line look_at_message(int pe, std::string_view text);
  std::map<std::string, Message> messages_;  // by what is the same on all PEs
  std::map<int, Line> inside_;               // PEs whose last line was of a message
};

}  // namespace weft::run
