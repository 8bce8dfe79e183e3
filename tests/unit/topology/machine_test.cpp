// Machines as text, and as made-up trees of /sys.
#include "host/topology/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/file_tree.hpp"
#include "tests/unit/topology/recorded.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

TEST(ParseMachine, ARecordReadsBackAsItWas) {
  for (const char* name : {"dgx_h100", "two_nics", "pcie_box", "bare"}) {
    const std::string record = record_of(recorded(name));
    EXPECT_EQ(record, machine_text(name).substr(machine_text(name).find("node 0")) + "\n") << name;
  }
}

TEST(ParseMachine, WhatIsNotKnownIsADash) {
  const std::string text = "node 0 -\nnic rxe0 1 active Ethernet 0 -1 -\n";
  const Result<MachineFacts> machine = parse_machine(text);
  ASSERT_TRUE(machine.is_ok()) << machine.status().text();
  EXPECT_EQ(machine->ports[0].place.path, "");
  EXPECT_EQ(record_of(*machine), text);
}

TEST(ParseMachine, ALineThatIsNotUnderstoodIsNamed) {
  for (const char* wrong :
       {"disk sda", "node", "gpu nvidia", "nic mlx5_0 1 asleep Ethernet 100 0 a/b",
        "nic mlx5_0 one active Ethernet 100 0 a/b", "gpu nvidia 0000:01:00.0 0 a/b more"}) {
    const auto machine = parse_machine(std::string("# a comment\n\n") + wrong);
    ASSERT_FALSE(machine.is_ok()) << wrong;
    const std::string text(machine.status().text());
    EXPECT_NE(text.find(std::string("line 3 of the machine, '") + wrong), std::string::npos)
        << text;
  }
}

class LookAtDevicesTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    tree_.write(path, text + "\n");
  }
  void add_pci(const std::string& path, const std::string& kind, const std::string& vendor) const {
    const std::string device = "/sys/devices/" + path;
    write(device + "/class", kind);
    write(device + "/vendor", vendor);
    write(device + "/numa_node", "1");
    fs::create_directories(tree_.root() + "/sys/bus/pci/devices");
    fs::create_directory_symlink(tree_.root() + device, tree_.root() + "/sys/bus/pci/devices/" +
                                                            fs::path(path).filename().string());
  }
  void add_port(const std::string& device, const std::string& state,
                const std::string& rate) const {
    const std::string port = "/sys/class/infiniband/" + device + "/ports/1/";
    write(port + "state", state);
    write(port + "link_layer", "Ethernet");
    write(port + "rate", rate);
  }

  FileTree tree_;
};

TEST_F(LookAtDevicesTest, NothingIsThere) {
  EXPECT_EQ(record_of(look_at_devices(tree_.root())), "");
}

TEST_F(LookAtDevicesTest, GpusPortsAndNodes) {
  write("/sys/devices/system/node/node0/cpulist", "0-3");
  write("/sys/devices/system/node/node1/cpulist", "");
  write("/sys/devices/system/node/possible", "0-1");
  add_pci("pci0000:15/0000:15:01.0/0000:1b:00.0", "0x030200", "0x10de");
  add_pci("pci0000:15/0000:15:02.0/0000:1c:00.0", "0x120000", "0x1002");
  add_pci("pci0000:15/0000:15:03.0/0000:1d:00.0", "0x030000", "0x1a03");  // a console's
  add_pci("pci0000:15/0000:15:01.0/0000:18:00.0", "0x020000", "0x15b3");
  add_port("mlx5_10", "1: DOWN", "40 Gb/sec (4X QDR)");
  add_port("mlx5_2", "4: ACTIVE", "400 Gb/sec (4X NDR)");
  fs::create_directory_symlink(tree_.root() + "/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0",
                               tree_.root() + "/sys/class/infiniband/mlx5_2/device");
  EXPECT_EQ(record_of(look_at_devices(tree_.root())),
            "node 0 0-3\n"
            "node 1 -\n"
            "gpu nvidia 0000:1b:00.0 1 0000:15:01.0/0000:1b:00.0\n"
            "gpu amd 0000:1c:00.0 1 0000:15:02.0/0000:1c:00.0\n"
            "nic mlx5_2 1 active Ethernet 400 1 0000:15:01.0/0000:18:00.0\n"
            "nic mlx5_10 1 down Ethernet 40 -1 -\n");
}

TEST(LookAtDevices, ThisMachineCanBeWrittenDown) {
  const MachineFacts machine = look_at_devices();
  const Result<MachineFacts> again = parse_machine(record_of(machine));
  ASSERT_TRUE(again.is_ok()) << again.status().text();
  EXPECT_EQ(record_of(*again), record_of(machine));
}

}  // namespace
}  // namespace weft
