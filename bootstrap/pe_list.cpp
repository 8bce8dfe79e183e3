#include "bootstrap/pe_list.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kMostParts = 16;

std::vector<std::string> parts_of(const std::vector<int>& pes) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < pes.size();) {
    std::size_t last = first;
    while (last + 1 < pes.size() && pes[last + 1] == pes[last] + 1) ++last;
    if (last - first < 2) last = first;  // a pair reads better as two numbers
    parts.push_back(last == first ? fmt::format("{}", pes[first])
                                  : fmt::format("{}-{}", pes[first], pes[last]));
    first = last + 1;
  }
  return parts;
}

}  // namespace

std::string name_pes(const std::vector<int>& pes) {
  if (pes.empty()) return "no PE";
  std::vector<std::string> parts = parts_of(pes);
  if (parts.size() > kMostParts) {
    const std::size_t more = parts.size() - kMostParts + 1;
    parts.resize(kMostParts - 1);
    parts.push_back(fmt::format("{} more", more));
  }
  std::string text = pes.size() == 1 ? "PE " : "PEs ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace weft
