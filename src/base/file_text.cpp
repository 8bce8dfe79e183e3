#include "src/base/file_text.hpp"

#include <fstream>
#include <iterator>

namespace weft {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace weft
