// weft-info --options: the table of options with what holds here.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "host/info/report.hpp"

namespace weft::info {

std::string options_text();
nlohmann::json options_json();

// Only what the environment sets, for the summary.
Section options_set();

}  // namespace weft::info
