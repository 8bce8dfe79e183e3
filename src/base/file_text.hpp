// The whole of a small file, such as those of /proc and /sys.
#pragma once

#include <string>

namespace weft {

std::string file_text(const std::string& path);  // without the last line end; "" if not readable

}  // namespace weft
