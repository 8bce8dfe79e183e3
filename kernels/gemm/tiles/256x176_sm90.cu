#include "kernels/gemm/tile_sm90.hpp"

WEFT_COMPILE_TILE(256, 176, false)
