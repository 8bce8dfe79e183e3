#include "host/info/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "host/topology/near_port.hpp"

namespace weft::info {
namespace {

// A device with what is said of it.
struct Part {
  std::string what;
  std::string text;
  Place place;
};

// "mlx5_0 port 1 (same PCIe switch)", or all that are shared in turn.
std::string nearest(const MachineFacts& machine, const Place& place) {
  std::string names;
  std::string reason;
  std::set<int> seen;
  for (int rank = 0;; ++rank) {
    const std::vector<PortChoice> choices = near_ports(machine.ports, place, rank);
    if (choices.empty()) return "none";
    if (!seen.insert(choices[0].port).second) return fmt::format("{} ({})", names, reason);
    const NicPort& port = machine.ports[static_cast<std::size_t>(choices[0].port)];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", port.name());
    reason = choices[0].reason;
  }
}

std::string port_text(const NicPort& port) {
  const std::string speed = port.gbps > 0 ? fmt::format(" {} Gbit/s", port.gbps) : "";
  return fmt::format("{}: {}{}, {}", port.name(), port.link_layer, speed,
                     port.active ? "active" : "down");
}

std::vector<Part> parts_of(const MachineFacts& machine) {
  std::vector<Part> parts;
  for (const MachineGpu& gpu : machine.gpus)
    parts.push_back(
        {"gpu", fmt::format("{} -> {}", gpu.name, nearest(machine, gpu.place)), gpu.place});
  for (const NicPort& port : machine.ports) parts.push_back({"nic", port_text(port), port.place});
  return parts;
}

// The root's bridge above a device; "" if it has none.
std::string root_bridge(const Place& place) {
  const std::size_t end = place.path.find('/');
  return end == std::string::npos ? "" : place.path.substr(0, end);
}

// The parts behind one bridge of the root are drawn together, if there is more than one.
void draw_parts(const std::vector<Part>& parts, int numa_node, Drawing& drawing) {
  std::map<std::string, std::vector<const Part*>> by_bridge;
  for (const Part& part : parts) {
    if (part.place.numa_node == numa_node) by_bridge[root_bridge(part.place)].push_back(&part);
  }
  for (const auto& [bridge, members] : by_bridge) {
    const bool grouped = !bridge.empty() && members.size() > 1;
    if (grouped) drawing.rows.push_back({1, "switch", bridge});
    for (const Part* part : members)
      drawing.rows.push_back({grouped ? 2 : 1, part->what, part->text});
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

const char* colour(const std::string& what) {
  if (what == "gpu") return "#cfe8c8";
  if (what == "nic") return "#cfdcf5";
  return what == "switch" ? "#eeeeee" : "#f7e6c4";
}

}  // namespace

Drawing draw(const MachineFacts& machine) {
  Drawing drawing;
  const std::vector<Part> parts = parts_of(machine);
  std::set<int> drawn;
  for (const MachineNode& node : machine.nodes) {
    drawn.insert(node.number);
    drawing.rows.push_back(
        {0, "numa node",
         fmt::format("{}, processors {} -> {}", node.number, node.cpus.empty() ? "none" : node.cpus,
                     nearest(machine, Place{"", node.number}))});
    draw_parts(parts, node.number, drawing);
  }
  std::set<int> others;
  for (const Part& part : parts) {
    if (!drawn.contains(part.place.numa_node)) others.insert(part.place.numa_node);
  }
  for (const int node : others) {
    drawing.rows.push_back({0, "numa node", node < 0 ? "not known" : std::to_string(node)});
    draw_parts(parts, node, drawing);
  }
  if (machine.gpus.empty()) drawing.rows.push_back({0, "", "no GPU"});
  if (machine.ports.empty()) drawing.rows.push_back({0, "", "no RDMA port"});
  return drawing;
}

std::string as_text(const Drawing& drawing) {
  std::string out;
  for (const Drawing::Row& row : drawing.rows) {
    const std::string what = row.what.empty() ? "" : row.what + " ";
    out += fmt::format("{:{}}{}{}\n", "", 2 * row.indent, what, row.text);
  }
  return out;
}

std::string as_svg(const Drawing& drawing) {
  constexpr int kHeight = 24, kStep = 28, kIndent = 28, kLetter = 8;
  std::size_t letters = 0;
  for (const Drawing::Row& row : drawing.rows)
    letters = std::max(letters, row.what.size() + row.text.size() + 1);
  const int width = static_cast<int>(letters) * kLetter + 16;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"monospace\" font-size=\"13\">\n",
      width + 2 * kIndent + 16, static_cast<int>(drawing.rows.size()) * kStep + 16);
  int y = 8;
  for (const Drawing::Row& row : drawing.rows) {
    const int x = 8 + row.indent * kIndent;
    if (!row.what.empty())
      out +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{}\"/>\n",
                      x, y, width, kHeight, colour(row.what));
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 8, y + 17,
                       escaped(row.what.empty() ? row.text : row.what + " " + row.text));
    y += kStep;
  }
  return out + "</svg>\n";
}

nlohmann::json topology_json(const MachineFacts& machine) {
  const auto placed = [&](nlohmann::json entry, const Place& place) {
    entry["numa_node"] = place.numa_node;
    entry["pci_path"] = place.path;
    return entry;
  };
  nlohmann::json out = {{"numa_nodes", nlohmann::json::array()},
                        {"gpus", nlohmann::json::array()},
                        {"ports", nlohmann::json::array()}};
  for (const MachineNode& node : machine.nodes)
    out["numa_nodes"].push_back({{"number", node.number},
                                 {"processors", node.cpus},
                                 {"nearest_port", nearest(machine, Place{"", node.number})}});
  for (const MachineGpu& gpu : machine.gpus)
    out["gpus"].push_back(
        placed({{"name", gpu.name}, {"nearest_port", nearest(machine, gpu.place)}}, gpu.place));
  for (const NicPort& port : machine.ports)
    out["ports"].push_back(placed({{"device", port.device},
                                   {"port", port.port},
                                   {"active", port.active},
                                   {"link_layer", port.link_layer},
                                   {"gbps", port.gbps}},
                                  port.place));
  return out;
}

}  // namespace weft::info
