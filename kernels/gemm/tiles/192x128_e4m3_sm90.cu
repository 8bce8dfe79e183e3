#include "kernels/gemm/launch_sm90.hpp"

WEFT_GEMM_E4M3_TILE(192, 128, false)
