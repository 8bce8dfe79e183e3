#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "host/topology/machine.hpp"
#include "src/base/files.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

int number_of(const std::string& text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_bus_address(const std::string& name) {  // "0000:18:00.0"
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':';
}

// A link such as /sys/class/infiniband/mlx5_0/device, which leads into
// /sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0.
Place place_of(const std::string& device) {
  Place place;
  std::error_code error;
  const fs::path real = fs::canonical(device, error);
  if (error) return place;
  for (const fs::path& part : real) {
    if (is_bus_address(part.string()))
      place.path += fmt::format("{}{}", place.path.empty() ? "" : "/", part.string());
  }
  place.numa_node = number_of(file_text(device + "/numa_node"), -1);
  return place;
}

std::vector<MachineNode> nodes(const std::string& root) {
  std::vector<MachineNode> found;
  const std::string folder = root + "/sys/devices/system/node";
  for (const std::string& name : names_in(folder)) {
    const std::string cpus = file_text(fmt::format("{}/{}/cpulist", folder, name));
    if (name.starts_with("node") && fs::is_directory(folder + "/" + name))
      found.push_back({number_of(name.substr(4), 0), cpus});
  }
  return found;
}

// PCI classes: 3 of displays, as NVIDIA's are, 0x12 of accelerators, as AMD's are.
std::vector<MachineGpu> gpus(const std::string& root) {
  std::vector<MachineGpu> found;
  const std::string folder = root + "/sys/bus/pci/devices";
  for (const std::string& bus : names_in(folder)) {
    const std::string device = fmt::format("{}/{}", folder, bus);
    const std::string kind = file_text(device + "/class");
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    const std::string vendor = file_text(device + "/vendor");
    if (vendor != "0x10de" && vendor != "0x1002") continue;
    found.push_back(
        {fmt::format("{} {}", vendor == "0x10de" ? "nvidia" : "amd", bus), place_of(device)});
  }
  return found;
}

}  // namespace

std::vector<NicPort> look_at_ports(const std::string& root) {
  std::vector<NicPort> found;
  const std::string folder = root + "/sys/class/infiniband";
  for (const std::string& device : names_in(folder)) {
    const Place place = place_of(fmt::format("{}/{}/device", folder, device));
    for (const std::string& number : names_in(fmt::format("{}/{}/ports", folder, device))) {
      const std::string port = fmt::format("{}/{}/ports/{}/", folder, device, number);
      const std::string layer = file_text(port + "link_layer");
      found.push_back({device, number_of(number, 1),
                       file_text(port + "state").find("ACTIVE") != std::string::npos,
                       layer.empty() ? "InfiniBand" : layer, number_of(file_text(port + "rate"), 0),
                       place});
    }
  }
  return found;
}

MachineFacts look_at_devices(const std::string& root) {
  return {nodes(root), gpus(root), look_at_ports(root)};
}

}  // namespace weft
