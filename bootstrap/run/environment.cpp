#include "bootstrap/run/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "bootstrap/choose.hpp"

namespace weft::run {
namespace {

std::map<std::string, std::string> given(const Arguments& arguments) {
  std::map<std::string, std::string> variables;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : arguments.environment) variables[name] = value;
  return variables;
}

}  // namespace

std::vector<std::string> environment_of(int pe, const Arguments& arguments,
                                        const std::string& unique_id, int pmi_fd) {
  auto variables = given(arguments);
  variables["WEFT_UNIQUE_ID"] = unique_id;
  variables["WEFT_PE"] = std::to_string(pe);
  variables["WEFT_NPES"] = std::to_string(arguments.npes);
  variables[kWeftRunPes] = variables["WEFT_NPES"];
  variables[kOuterProcesses] = std::to_string(launched_processes(look_around()));
  if (pmi_fd >= 0) {
    variables["PMI_FD"] = std::to_string(pmi_fd);
    variables["PMI_RANK"] = std::to_string(pe);
    variables["PMI_SIZE"] = std::to_string(arguments.npes);
  }
  std::vector<std::string> all;
  for (const auto& [name, value] : variables) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<std::pair<std::string, std::string>> environment_for_hosts(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> some;
  for (const auto& variable : given(arguments)) {
    const auto asked = [&](const auto& each) { return each.first == variable.first; };
    if (variable.first.starts_with("WEFT_") || std::ranges::any_of(arguments.environment, asked)) {
      some.push_back(variable);
    }
  }
  return some;
}

std::string search_path(const Arguments& arguments) {
  const auto variables = given(arguments);
  const auto path = variables.find("PATH");
  return path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
}

}  // namespace weft::run
