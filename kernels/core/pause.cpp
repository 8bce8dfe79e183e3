#include "kernels/core/pause.hpp"

namespace weft::kernels::cpu {

void pause(Point) {}

}  // namespace weft::kernels::cpu
