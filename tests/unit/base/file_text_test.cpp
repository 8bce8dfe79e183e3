#include "src/base/file_text.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace weft {
namespace {

TEST(FileText, IsTheWholeWithoutTheLastLineEnds) {
  const std::string path = ::testing::TempDir() + "weft-text-" + std::to_string(::getpid());
  for (const auto& [written, read] : {std::pair("", ""), std::pair("\n", ""), std::pair("a", "a"),
                                      std::pair("a b\n\nc\n\n", "a b\n\nc")}) {
    std::ofstream(path) << written;
    EXPECT_EQ(file_text(path), read);
  }
  ::unlink(path.c_str());
}

TEST(FileText, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(file_text("/nowhere/at/all"), "");
  EXPECT_EQ(file_text("/"), "");  // opens, but read() fails
}

}  // namespace
}  // namespace weft
