// Kernel code includes this one header: what kernels do, and how they are launched. With
// weft/device/kernel.hpp the only place where include/ reaches into device/.
#pragma once

#include <weft/device/kernel.hpp>

#if !defined(__CUDACC_RTC__)  // NVRTC compiles kernels; the program around them launches
#include <weft/device/launch.hpp>

#include <weft/dev/launch.hpp>

#if WEFT_TARGET_CPU
namespace weft::dev {
inline namespace WEFT_TARGET {
namespace launching {
// Before main(): such kernels load and store what allocate_device() gives.
inline const bool noted = weft::detail::note_host_kernels();
}  // namespace launching
}  // namespace WEFT_TARGET
}  // namespace weft::dev
#endif
#endif
