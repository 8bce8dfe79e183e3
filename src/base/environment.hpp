// The environment of the process; the only place of the library that reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

std::optional<std::string> environment_value(const std::string& name);

// All variables whose names start so, in the order of the environment.
std::vector<std::pair<std::string, std::string>> environment_with_prefix(std::string_view prefix);

}  // namespace weft
