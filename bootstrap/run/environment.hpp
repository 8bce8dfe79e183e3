// The environment of a PE: weft-run's own, what -x adds, and where to meet the others.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/run/arguments.hpp"

namespace weft::run {

// NAME=VALUE, one per name.
std::vector<std::string> environment_of(int pe, const Arguments& arguments,
                                        const std::string& unique_id);

// PATH as the PEs will have it.
std::string search_path(const Arguments& arguments);

}  // namespace weft::run
