#include "bootstrap/run/repeated_messages.hpp"

#include <fmt/format.h>

#include "bootstrap/pe_list.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kShown = 100;  // characters of a message

// The part of a text that PEs write alike for one cause: "barrier on PE 2, which waits for PE 0,
// after 10.2 s" without the writer and the time.
std::string cause_of(int pe, std::string_view text) {
  std::string cause(text);
  const std::string writer = fmt::format(" on PE {}", pe);
  if (const auto at = cause.find(writer); at != std::string::npos) {
    const std::size_t end = at + writer.size();
    if (cause.find_first_of("0123456789", end) != end) cause.erase(at, writer.size());
  }
  constexpr std::string_view kAfter = ", after ";
  const auto at = cause.find(kAfter);
  if (at == std::string::npos) return cause;
  const std::size_t time = at + kAfter.size();
  const std::size_t end = cause.find_first_not_of("0123456789.", time);
  if (end != std::string::npos && cause.compare(end, 2, " s") == 0) cause.erase(time, end - time);
  return cause;
}

}  // namespace

Repeats::Line Repeats::look(int pe, std::string_view line) {
  const std::string writer = fmt::format("weft[{}] ", pe);
  if (!line.starts_with(writer)) {
    if (!line.starts_with("  ")) inside_.erase(pe);
    const auto inside = inside_.find(pe);
    return inside == inside_.end() ? Line::kProgram : inside->second;
  }
  inside_.erase(pe);
  line.remove_prefix(writer.size());
  if (!line.starts_with("error ") && !line.starts_with("warn ")) return Line::kProgram;
  return inside_[pe] = look_at_message(pe, line);
}

Repeats::Line Repeats::look_at_message(int pe, std::string_view text) {
  std::string cause = cause_of(pe, text);
  const auto known = messages_.find(cause);
  if (known == messages_.end()) {
    if (messages_.size() < kMostMessages)
      messages_.emplace(std::move(cause), Message{pe, std::string(text), {}});
    return Line::kMessage;
  }
  if (known->second.first == pe) return Line::kMessage;
  known->second.others.insert(pe);
  return Line::kRepeat;
}

std::vector<std::string> Repeats::summary() const {
  std::vector<std::string> lines;
  for (const auto& [cause, message] : messages_) {
    if (message.others.empty()) continue;
    std::string_view text = message.text;
    if (text.ends_with('\n')) text.remove_suffix(1);
    lines.push_back(fmt::format("{} wrote the same as PE {}: {}{}",
                                name_pes({message.others.begin(), message.others.end()}),
                                message.first, text.substr(0, kShown),
                                text.size() > kShown ? "..." : ""));
  }
  return lines;
}

}  // namespace weft::run
