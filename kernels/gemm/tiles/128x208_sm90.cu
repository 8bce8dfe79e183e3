#include "kernels/gemm/launch_sm90.hpp"

WEFT_GEMM_TILE(128, 208, false)
