// Output in whole lines, so that those of different PEs never mix.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace weft::run {

class Lines {
 public:
  using Sink = std::function<void(std::string_view line)>;  // with its newline

  // A line longer than this is cut, so that a program without newlines does not fill the memory.
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  explicit Lines(Sink sink) : sink_(std::move(sink)) {}

  void feed(std::string_view bytes) {
    for (;;) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) break;
      partial_ += bytes.substr(0, end + 1);
      emit();
      bytes.remove_prefix(end + 1);
    }
    partial_ += bytes;
    if (partial_.size() >= kLongest) finish();
  }

  // The end of the stream ends a line too.
  void finish() {
    if (partial_.empty()) return;
    partial_ += '\n';
    emit();
  }

 private:
  void emit() {
    sink_(partial_);
    partial_.clear();
  }

  Sink sink_;
  std::string partial_;
};

// The last lines of a stream, cut to what a reader will look at.
class LastWords {
 public:
  static constexpr std::size_t kLines = 10;
  static constexpr std::size_t kWidth = 400;

  void add(std::string_view line) {
    if (lines_.size() == kLines) lines_.pop_front();
    if (line.ends_with('\n')) line.remove_suffix(1);
    const bool cut = line.size() > kWidth;
    lines_.push_back(std::string(line.substr(0, kWidth)) + (cut ? "..." : ""));
  }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace weft::run
