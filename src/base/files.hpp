// Small files and folders, such as those of /proc and /sys.
#pragma once

#include <string>
#include <vector>

namespace weft {

std::string file_text(const std::string& path);  // without the last line end; "" if not readable
// "mlx5_2" before "mlx5_10"; none if the folder is not readable.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace weft
