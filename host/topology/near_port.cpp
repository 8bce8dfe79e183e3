#include "host/topology/near_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace weft {

namespace {

enum class Distance { kBridge, kNode, kFar };

// How many bridges two devices have in common, seen from the root.
int common_bridges(const std::string& a, const std::string& b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<int>(std::count(a.begin(), differ, '/'));
}

struct Nearness {
  Distance distance;
  int bridges;  // in common: the more, the nearer
};

Nearness nearness(const Place& a, const Place& b) {
  if (const int bridges = common_bridges(a.path, b.path); bridges > 0)
    return {Distance::kBridge, bridges};
  if (a.numa_node >= 0 && a.numa_node == b.numa_node) return {Distance::kNode, 0};
  return {Distance::kFar, 0};
}

const char* in_words(Distance distance) {
  switch (distance) {
    case Distance::kBridge: return "same PCIe switch";
    case Distance::kNode: return "same NUMA node";
    case Distance::kFar: return "none is nearer";
  }
  return "";
}

// InfiniBand of two that are equally fast: Ethernet may be there for storage and login.
std::string main_layer(std::span<const NicPort> ports) {
  const NicPort* best = nullptr;
  for (const NicPort& port : ports) {
    if (!port.active) continue;
    const bool faster = best == nullptr || port.gbps > best->gbps;
    const bool preferred =
        best != nullptr && port.gbps == best->gbps && port.link_layer == "InfiniBand";
    if (faster || preferred) best = &port;
  }
  return best == nullptr ? "" : best->link_layer;
}

struct Candidate {
  int port;
  Distance distance;
  std::tuple<bool, Distance, int, int> key;  // the least is best
};

}  // namespace

std::vector<PortChoice> near_ports(std::span<const NicPort> ports, const Place& place, int rank) {
  const std::string layer = main_layer(ports);
  std::vector<Candidate> found;
  for (int i = 0; i < static_cast<int>(ports.size()); ++i) {
    const NicPort& port = ports[static_cast<std::size_t>(i)];
    if (!port.active) continue;
    const auto [distance, bridges] = nearness(place, port.place);
    found.push_back(
        {i, distance, std::tuple(port.link_layer != layer, distance, -bridges, -port.gbps)});
  }
  if (found.empty()) return {};
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  const auto equal = std::count_if(found.begin(), found.end(), [&](const Candidate& each) {
    return each.key == found.front().key;
  });
  std::rotate(found.begin(), found.begin() + rank % equal, found.begin() + equal);
  std::vector<PortChoice> choices;
  int level = 0;
  for (const Candidate& each : found) {
    const bool shared = equal > 1 && each.key == found.front().key;
    if (&each != &found.front() && each.key != (&each - 1)->key) ++level;
    choices.push_back(
        {each.port,
         fmt::format(
             "{}{}", in_words(each.distance),
             shared
                 ? fmt::format("; one of {} that PEs share in turn, WEFT_IB_RAILS at a time", equal)
                 : ""),
         level});
  }
  return choices;
}

}  // namespace weft
