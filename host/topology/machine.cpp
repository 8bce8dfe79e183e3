#include "host/topology/machine.hpp"

#include <fmt/format.h>

#include <sstream>

#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr std::string_view kUnknown = "-";

std::string known(const std::string& word) { return word == kUnknown ? "" : word; }
std::string_view word_of(std::string_view text) { return text.empty() ? kUnknown : text; }

bool read_place(std::istream& words, Place& place) {
  words >> place.numa_node >> place.path;
  place.path = known(place.path);
  return !words.fail();
}

bool read_node(std::istream& words, MachineFacts& machine) {
  MachineNode node;
  words >> node.number >> node.cpus;
  node.cpus = known(node.cpus);
  machine.nodes.push_back(node);
  return !words.fail();
}

bool read_gpu(std::istream& words, MachineFacts& machine) {
  MachineGpu gpu;
  std::string vendor;
  std::string bus;
  words >> vendor >> bus;
  gpu.name = vendor + " " + bus;
  const bool read = read_place(words, gpu.place);
  machine.gpus.push_back(gpu);
  return read;
}

bool read_port(std::istream& words, MachineFacts& machine) {
  NicPort port;
  std::string state;
  words >> port.device >> port.port >> state >> port.link_layer >> port.gbps;
  port.active = state == "active";
  const bool read = read_place(words, port.place);
  machine.ports.push_back(port);
  return read && (port.active || state == "down");
}

bool read_line(const std::string& line, MachineFacts& machine) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string kind;
  if (!(words >> kind)) return true;
  const bool read = (kind == "node" && read_node(words, machine)) ||
                    (kind == "gpu" && read_gpu(words, machine)) ||
                    (kind == "nic" && read_port(words, machine));
  std::string more;
  return read && !(words >> more);
}

}  // namespace

Result<MachineFacts> parse_machine(std::string_view text) {
  MachineFacts machine;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (read_line(line, machine)) continue;
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("line {} of the machine, '{}', is not 'node NUMBER CPUS', 'gpu VENDOR BUS "
                    "NUMA_NODE PCI_PATH' or 'nic DEVICE PORT active|down LINK_LAYER GBPS NUMA_NODE "
                    "PCI_PATH'",
                    number, line));
  }
  return machine;
}

std::string record_of(const MachineFacts& machine) {
  std::string out;
  for (const MachineNode& node : machine.nodes)
    out += fmt::format("node {} {}\n", node.number, word_of(node.cpus));
  for (const MachineGpu& gpu : machine.gpus)
    out += fmt::format("gpu {} {} {}\n", gpu.name, gpu.place.numa_node, word_of(gpu.place.path));
  for (const NicPort& port : machine.ports)
    out += fmt::format("nic {} {} {} {} {} {} {}\n", port.device, port.port,
                       port.active ? "active" : "down", port.link_layer, port.gbps,
                       port.place.numa_node, word_of(port.place.path));
  return out;
}

}  // namespace weft
