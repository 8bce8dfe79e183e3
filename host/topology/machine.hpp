// The GPUs and RDMA ports of a machine and where they sit. Looked up, or read from a record, so
// that what is decided from it can be tested for machines that are not at hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

namespace weft {

// A device in the PCI tree.
struct Place {
  std::string path;    // bridges from the root and the device: "0000:15:01.0/0000:18:00.0"; or none
  int numa_node = -1;  // -1: not known
};

struct MachineNode {
  int number = 0;
  std::string cpus;  // "0-55,112-167"
};

struct MachineGpu {
  std::string name;  // "nvidia 0000:18:00.0"
  Place place;
};

struct NicPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  bool active = false;
  std::string link_layer;  // "InfiniBand", "Ethernet"
  int gbps = 0;            // 0: not known
  Place place;
  std::string name() const { return device + " port " + std::to_string(port); }
};

struct MachineFacts {
  std::vector<MachineNode> nodes;  // NUMA
  std::vector<MachineGpu> gpus;
  std::vector<NicPort> ports;
};

// One part a line, # begins a comment, - stands for a path or processors that are not known:
//   node NUMBER CPUS
//   gpu VENDOR BUS NUMA_NODE PCI_PATH
//   nic DEVICE PORT active|down LINK_LAYER GBPS NUMA_NODE PCI_PATH
Result<MachineFacts> parse_machine(std::string_view text);
std::string record_of(const MachineFacts& machine);

// This machine, by /sys; no driver is loaded and no device is opened. `root` stands before it, for
// tests.
MachineFacts look_at_devices(const std::string& root = "");
std::vector<NicPort> look_at_ports(const std::string& root = "");  // of it, these alone

}  // namespace weft
