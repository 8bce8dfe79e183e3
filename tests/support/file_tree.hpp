// A made-up tree of files, such as /proc and /sys, in a folder of its own that goes with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft {

class FileTree {
 public:
  FileTree() {
    std::string name = std::filesystem::temp_directory_path() / "weft-tree-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;
  ~FileTree() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

 private:
  std::string root_;
};

}  // namespace weft
