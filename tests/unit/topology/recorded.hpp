// Machines that somebody wrote down: machines/*.txt beside this file.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "host/topology/machine.hpp"
#include "src/base/files.hpp"

namespace weft {

inline std::string machine_text(const std::string& name) {
  const std::string text = file_text(WEFT_MACHINES "/" + name + ".txt");
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

inline MachineFacts recorded(const std::string& name) {
  const Result<MachineFacts> machine = parse_machine(machine_text(name));
  EXPECT_TRUE(machine.is_ok()) << machine.status().text();
  return machine.value_or(MachineFacts{});
}

}  // namespace weft
