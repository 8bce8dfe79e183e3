#include "src/base/files.hpp"

#include <gtest/gtest.h>

#include "tests/support/file_tree.hpp"

namespace weft {
namespace {

TEST(FileText, IsTheWholeWithoutTheLastLineEnds) {
  const FileTree tree;
  for (const auto& [written, read] : {std::pair("", ""), std::pair("\n", ""), std::pair("a", "a"),
                                      std::pair("a b\n\nc\n\n", "a b\n\nc")}) {
    tree.write("/file", written);
    EXPECT_EQ(file_text(tree.root() + "/file"), read);
  }
}

TEST(NamesIn, ShorterOnesFirst) {
  const FileTree tree;
  for (const char* name : {"/a/b10", "/a/b2", "/a/b1"}) tree.write(name, "");
  EXPECT_EQ(names_in(tree.root() + "/a"), (std::vector<std::string>{"b1", "b2", "b10"}));
  EXPECT_EQ(names_in(tree.root() + "/nowhere"), std::vector<std::string>());
}

TEST(FileText, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(file_text("/nowhere/at/all"), "");
  EXPECT_EQ(file_text("/"), "");  // opens, but read() fails
}

}  // namespace
}  // namespace weft
