// The sections of weft-info, one file each. Only what was really looked at or tried.
#pragma once

#include <weft/options.hpp>

#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "host/info/report.hpp"

namespace weft::info {

Section build_section();    // how this library was compiled
Section machine_section();  // processors, memory, what of it this process may use
// `root` stands before /proc and /sys, for tests.
Section limits_section(const std::string& root = "");
Section capabilities_section(const Options& options);  // each tried; what is missing has its mend
// The launchers around this process, and which bootstrap it would choose.
Section launchers_section(const Options& options);
// Each transport's abilities and whom it reaches. Collective over the job of `bootstrap`.
std::vector<Section> transport_sections(const Options& options, Bootstrap& bootstrap);

}  // namespace weft::info
