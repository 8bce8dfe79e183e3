#include "kernels/gemm/launch_sm90.hpp"

WEFT_GEMM_E4M3_TILE(64, 56, false)
