// The environment of a PE: weft-run's own, what -x adds, and where to meet the others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bootstrap/run/arguments.hpp"

namespace weft::run {

// NAME=VALUE, one per name. `pmi_fd`: the PE's end of its PMI socket; -1: none.
std::vector<std::string> environment_of(int pe, const Arguments& arguments,
                                        const std::string& unique_id, int pmi_fd);

// Variables that go along to other hosts: WEFT_* and whatever -x names.
std::vector<std::pair<std::string, std::string>> environment_for_hosts(const Arguments& arguments);

// PATH as the PEs will have it.
std::string search_path(const Arguments& arguments);

}  // namespace weft::run
