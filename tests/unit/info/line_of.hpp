// The line of a section that has this name.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "host/info/report.hpp"

namespace weft::info {

inline Line line_of(const Section& section, const std::string& name) {
  for (const Line& line : section.lines) {
    if (line.name == name) return line;
  }
  ADD_FAILURE() << section.title << " has no line " << name;
  return {};
}

}  // namespace weft::info
