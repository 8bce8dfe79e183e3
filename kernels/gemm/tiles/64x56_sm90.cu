#include "kernels/gemm/launch_sm90.hpp"

WEFT_GEMM_TILE(64, 56, false)
