#include "host/topology/machine.hpp"

#include <fmt/format.h>

#include <span>

#include "src/base/status.hpp"
#include "src/base/text.hpp"

namespace weft {

namespace {

constexpr std::string_view kUnknown = "-";

using Words = std::span<const std::string_view>;

std::string known(std::string_view word) { return std::string(word == kUnknown ? "" : word); }
std::string_view word_of(std::string_view text) { return text.empty() ? kUnknown : text; }

bool read_number(std::string_view word, int& number) {
  const auto read = number_in<int>(word);
  number = read.value_or(number);
  return read.has_value();
}

bool read_place(std::string_view numa_node, std::string_view path, Place& place) {
  place.path = known(path);
  return read_number(numa_node, place.numa_node);
}

bool read_node(Words words, MachineFacts& machine) {
  if (words.size() != 2) return false;
  MachineNode& node = machine.nodes.emplace_back();
  node.cpus = known(words[1]);
  return read_number(words[0], node.number);
}

bool read_gpu(Words words, MachineFacts& machine) {
  if (words.size() != 4) return false;
  MachineGpu& gpu = machine.gpus.emplace_back();
  gpu.name = fmt::format("{} {}", words[0], words[1]);
  return read_place(words[2], words[3], gpu.place);
}

bool read_port(Words words, MachineFacts& machine) {
  if (words.size() != 7) return false;
  NicPort& port = machine.ports.emplace_back();
  port.device = words[0];
  port.active = words[2] == "active";
  port.link_layer = words[3];
  return (port.active || words[2] == "down") && read_number(words[1], port.port) &&
         read_number(words[4], port.gbps) && read_place(words[5], words[6], port.place);
}

bool read_line(std::string_view line, MachineFacts& machine) {
  const auto words = words_of(line.substr(0, line.find('#')));
  if (words.empty()) return true;
  const Words rest = Words(words).subspan(1);
  if (words[0] == "node") return read_node(rest, machine);
  if (words[0] == "gpu") return read_gpu(rest, machine);
  return words[0] == "nic" && read_port(rest, machine);
}

}  // namespace

Result<MachineFacts> parse_machine(std::string_view text) {
  MachineFacts machine;
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
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
