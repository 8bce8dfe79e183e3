#include "host/topology/select.hpp"

#include <fmt/format.h>

namespace weft {

namespace {

Pick pick(std::span<const Offer> offers, std::size_t pe) {
  std::string passed_over;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const std::string& why_not = offers[i].why_not[pe];
    if (why_not.empty()) {
      const std::string& name = offers[i].name;
      return {static_cast<int>(i),
              passed_over.empty() ? name : fmt::format("{} ({})", name, passed_over)};
    }
    if (!passed_over.empty()) passed_over += "; ";
    passed_over += fmt::format("{}: {}", offers[i].name, why_not);
  }
  return {-1, passed_over.empty() ? "there is no transport" : passed_over};
}

}  // namespace

std::vector<Pick> select(std::span<const Offer> offers, int npes) {
  std::vector<Pick> picks;
  picks.reserve(static_cast<std::size_t>(npes));
  for (std::size_t pe = 0; pe < static_cast<std::size_t>(npes); ++pe)
    picks.push_back(pick(offers, pe));
  return picks;
}

}  // namespace weft
