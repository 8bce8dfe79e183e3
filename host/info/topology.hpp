// Where the GPUs and RDMA ports of a machine sit, drawn for people: by NUMA node and PCIe switch,
// each with the port that is nearest.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "host/topology/machine.hpp"

namespace weft::info {

struct Drawing {
  struct Row {
    int indent = 0;
    std::string what;  // "gpu", "nic", "switch", "numa node"; empty: a remark
    std::string text;
  };
  std::vector<Row> rows;
};

Drawing draw(const MachineFacts& machine);

std::string as_text(const Drawing& drawing);
std::string as_svg(const Drawing& drawing);
nlohmann::json topology_json(const MachineFacts& machine);

}  // namespace weft::info
