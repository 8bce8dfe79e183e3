// Which PEs run where: "node0,node1:4,[fe80::1]:2", or a file with one such item a line, or as Open
// MPI has it: node1 slots=4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

namespace weft::run {

struct Host {
  std::string name;
  int count = 0;  // of PEs; 0: an even share of what the others leave
  int first = 0;  // PE
};

Result<std::vector<Host>> parse_hosts(std::string_view list);
Result<std::vector<Host>> read_hostfile(const std::string& path);
// Gives each host its PEs, one block after the other.
Status place(int npes, std::vector<Host>& hosts);

}  // namespace weft::run
