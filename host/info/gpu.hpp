// Whether a GPU's driver answers.
#pragma once

#include "host/info/report.hpp"

namespace weft::info {

Line cuda();
Line hip();

}  // namespace weft::info
