// Kernel code includes this one header. The only place where include/ reaches into device/: the
// contract first, then the bodies, which users never include by hand.
#pragma once

#include <weft/device/handle.hpp>
#include <weft/device/scope.hpp>
#include <weft/device/context.hpp>
#include <weft/device/collective.hpp>

#include <weft/dev/scope.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/atomic.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>
#include <weft/dev/collective.hpp>

#if !defined(__CUDACC_RTC__)  // NVRTC compiles kernels; the program around them launches
#include <weft/device/launch.hpp>
#include <weft/dev/launch.hpp>
#endif
