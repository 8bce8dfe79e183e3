#include "kernels/gemm/tile_sm90.hpp"

WEFT_COMPILE_TILE(128, 64, false)
