// Kernel code includes this one header: what kernels do, and how they are launched. With
// weft/device/kernel.hpp the only place where include/ reaches into device/.
#pragma once

#include <weft/device/kernel.hpp>

#if !defined(__CUDACC_RTC__)  // NVRTC compiles kernels; the program around them launches
#include <weft/device/launch.hpp>

#include <weft/dev/launch.hpp>
#endif
