// The GPUs of this machine, by CUDA.
#pragma once

#include <string>

namespace weft::perf {

std::string no_gpu();           // why no row can run on one; "" if rows can
std::string gpu_name(int gpu);  // "NVIDIA H200, 132 SMs"

}  // namespace weft::perf
