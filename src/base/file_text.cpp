#include "src/base/file_text.hpp"

#include <fstream>
#include <sstream>

namespace weft {

std::string file_text(const std::string& path) {
  const std::ifstream file(path);
  // Not by iterators, which throw where read() fails, as it does for some files of /sys.
  std::ostringstream all;
  all << file.rdbuf();
  std::string text = all.str();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace weft
