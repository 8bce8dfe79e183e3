// PEs in messages: "PE 2", "PEs 0 and 3", "PEs 1, 4-9 and 12".
#pragma once

#include <string>
#include <vector>

namespace weft {

// `pes` ascending. Runs of three or more are written as a range; after 16 parts the rest is
// counted.
std::string name_pes(const std::vector<int>& pes);

}  // namespace weft
