#include "host/topology/near_port.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topology/recorded.hpp"

namespace weft {
namespace {

// "mlx5_0 port 1: same NUMA node", of the port to use first.
std::string first(const MachineFacts& machine, const Place& place, int rank = 0) {
  const std::vector<PortChoice> choices = near_ports(machine.ports, place, rank);
  if (choices.empty()) return "none";
  const NicPort& port = machine.ports[static_cast<std::size_t>(choices[0].port)];
  return port.name() + ": " + choices[0].reason;
}

TEST(NearPorts, EachGpuHasTheNicBehindItsSwitch) {
  const MachineFacts machine = recorded("dgx_h100");
  ASSERT_EQ(machine.gpus.size(), 8u);
  for (std::size_t gpu = 0; gpu < 8; ++gpu)
    EXPECT_EQ(first(machine, machine.gpus[gpu].place),
              "mlx5_" + std::to_string(gpu) + " port 1: same PCIe switch");
}

TEST(NearPorts, TheNetworkOfTheFastestPortComesFirstAndDownPortsNever) {
  const MachineFacts machine = recorded("dgx_h100");
  const auto choices = near_ports(machine.ports, machine.gpus[0].place, 0);
  ASSERT_EQ(choices.size(), 9u);  // without mlx5_9, which is down
  EXPECT_EQ(machine.ports[static_cast<std::size_t>(choices.back().port)].device, "mlx5_8");
}

TEST(NearPorts, InfiniBandIsTakenBeforeEthernetOfTheSameSpeed) {
  MachineFacts machine = recorded("two_nics");
  machine.ports[1].link_layer = "InfiniBand";
  EXPECT_EQ(first(machine, Place{"", 0}), "mlx5_1 port 1: same NUMA node");
}

TEST(NearPorts, PesShareEqualPortsInTurn) {
  const MachineFacts machine = recorded("two_nics");
  const std::string shared =
      " port 1: same NUMA node; one of 2 that PEs share in turn, WEFT_IB_RAILS at a time";
  EXPECT_EQ(first(machine, Place{"", 0}, 0), "mlx5_0" + shared);
  EXPECT_EQ(first(machine, Place{"", 0}, 1), "mlx5_1" + shared);
  EXPECT_EQ(first(machine, Place{"", 0}, 2), "mlx5_0" + shared);
  EXPECT_EQ(
      first(machine, Place{"", 1}, 3),
      "mlx5_1 port 1: none is nearer; one of 2 that PEs share in turn, WEFT_IB_RAILS at a time");
  const MachineFacts dgx = recorded("dgx_h100");
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(near_ports(dgx.ports, Place{"", 1}, rank)[0].port, 4 + rank % 4) << rank;
}

TEST(NearPorts, EqualPortsAreOfOneLevel) {
  const auto levels = [](const MachineFacts& machine, const Place& place) {
    std::string all;
    for (const PortChoice& each : near_ports(machine.ports, place, 1))
      all += std::to_string(each.level);
    return all;
  };
  const MachineFacts dgx = recorded("dgx_h100");
  EXPECT_EQ(levels(dgx, Place{"", 1}), "000011112");       // the NUMA node's, others, Ethernet
  EXPECT_EQ(levels(dgx, dgx.gpus[0].place), "011122223");  // that behind its switch before these
  MachineFacts two = recorded("two_nics");
  EXPECT_EQ(levels(two, Place{"", 0}), "00");
  two.ports[1].gbps = 200;
  EXPECT_EQ(levels(two, Place{"", 0}), "01");
}

TEST(NearPorts, WhoSharesKeepsAllOthersToFallBackTo) {
  const MachineFacts machine = recorded("dgx_h100");
  for (int rank = 0; rank < 8; ++rank) {
    std::vector<bool> seen(machine.ports.size());
    for (const PortChoice& each : near_ports(machine.ports, Place{"", 0}, rank))
      seen[static_cast<std::size_t>(each.port)] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 9);
  }
}

TEST(NearPorts, OfEquallyNearPortsTheFastestIsTaken) {
  MachineFacts machine = recorded("two_nics");
  machine.ports[1].gbps = 200;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(first(machine, Place{"", 0}, rank), "mlx5_1 port 1: same NUMA node");
}

TEST(NearPorts, MoreBridgesInCommonAreNearer) {
  const MachineFacts machine = recorded("pcie_box");
  EXPECT_EQ(first(machine, machine.gpus[0].place), "mlx5_0 port 1: same NUMA node");
  EXPECT_EQ(first(machine, machine.gpus[3].place), "mlx5_0 port 1: same PCIe switch");
  MachineFacts two = machine;
  two.ports.push_back(two.ports[0]);
  two.ports[1].place.path = "0000:00:03.0/0000:16:00.0";  // behind the root's bridge alone
  two.ports[1].gbps = 400;
  EXPECT_EQ(near_ports(two.ports, two.gpus[3].place, 0)[0].port, 0);
}

TEST(NearPorts, AMachineWithoutPortsHasNone) {
  const MachineFacts machine = recorded("bare");
  EXPECT_EQ(machine.nodes.size(), 1u);
  EXPECT_TRUE(near_ports(machine.ports, Place{"", 0}, 0).empty());
}

}  // namespace
}  // namespace weft
