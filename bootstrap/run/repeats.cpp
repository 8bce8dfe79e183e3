#include "bootstrap/run/repeats.hpp"

#include <fmt/format.h>

#include "bootstrap/pe_list.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kShown = 100;  // characters of a message

}  // namespace

bool Repeats::is_repeat(int pe, std::string_view line) {
  const std::string writer = fmt::format("weft[{}] ", pe);
  if (!line.starts_with(writer)) {
    if (line.starts_with("  ")) return inside_.contains(pe);
    inside_.erase(pe);
    return false;
  }
  inside_.erase(pe);
  line.remove_prefix(writer.size());
  if (!line.starts_with("error ") && !line.starts_with("warn ")) return false;
  const auto known = messages_.find(line);
  if (known == messages_.end()) {
    if (messages_.size() < kMostMessages) messages_.emplace(line, Writers{pe, {}});
    return false;
  }
  if (known->second.first == pe) return false;
  known->second.others.insert(pe);
  inside_.insert(pe);
  return true;
}

std::vector<std::string> Repeats::summary() const {
  std::vector<std::string> lines;
  for (const auto& [message, writers] : messages_) {
    if (writers.others.empty()) continue;
    std::string_view text = message;
    if (text.ends_with('\n')) text.remove_suffix(1);
    lines.push_back(fmt::format("{} wrote the same as PE {}: {}{}",
                                name_pes({writers.others.begin(), writers.others.end()}),
                                writers.first, text.substr(0, kShown),
                                text.size() > kShown ? "..." : ""));
  }
  return lines;
}

}  // namespace weft::run
