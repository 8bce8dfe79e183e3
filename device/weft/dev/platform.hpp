// Picks the platform of this translation unit and checks that it keeps the contract
// (platform/contract.hpp, which is also the page to read).
#pragma once

#include <weft/target.hpp>

#include <weft/dev/platform/order.hpp>

#if WEFT_TARGET_CUDA
#include <weft/dev/platform/cuda.hpp>
#elif WEFT_TARGET_HIP
#include <weft/dev/platform/hip.hpp>
#else
#include <weft/dev/platform/cpu.hpp>
#endif

#include <weft/dev/platform/contract.hpp>
