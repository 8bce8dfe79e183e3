#include "kernels/gemm/tile_sm90.hpp"

WEFT_COMPILE_E4M3_TILE(128, 128, false)
