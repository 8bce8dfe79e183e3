// The target that one translation unit is compiled for, and the few macros that every public header
// needs.
// Nothing here includes a vendor header; C++17 under gcc, clang, nvcc and clang's HIP.
#pragma once

// Exactly one of WEFT_TARGET_{CUDA,HIP,CPU} is 1. WEFT_TARGET names the inline namespace that all
// device code lives in, so that one program may hold the CPU's and the GPU's copy of the same
// inline function without breaking the one-definition rule.
#if defined(__CUDACC__)
#define WEFT_TARGET_CUDA 1
#define WEFT_TARGET cuda
#elif defined(__HIP__) || defined(__HIPCC__)
#define WEFT_TARGET_HIP 1
#define WEFT_TARGET hip
#else
#define WEFT_TARGET_CPU 1
#define WEFT_TARGET cpu
#endif

#ifndef WEFT_TARGET_CUDA
#define WEFT_TARGET_CUDA 0
#endif
#ifndef WEFT_TARGET_HIP
#define WEFT_TARGET_HIP 0
#endif
#ifndef WEFT_TARGET_CPU
#define WEFT_TARGET_CPU 0
#endif

#if WEFT_TARGET_CUDA || WEFT_TARGET_HIP
#define WEFT_DEVICE __device__ inline __attribute__((always_inline))
#define WEFT_HOST_DEVICE __host__ __device__ inline
#else
#define WEFT_DEVICE inline
#define WEFT_HOST_DEVICE inline
#endif

// nvcc reads a file once for the host, where what kernels call is declared and no more, and once
// for each GPU, where the bodies are. Others read all of it each time. WEFT_DEVICE_CALL declares:
// inline would be a promise of a body.
#if WEFT_TARGET_CUDA && defined(__NVCC__) && !defined(__CUDA_ARCH__)
#define WEFT_DEVICE_BODIES 0
#define WEFT_DEVICE_CALL __device__
#else
#define WEFT_DEVICE_BODIES 1
#define WEFT_DEVICE_CALL WEFT_DEVICE
#endif

// A result that nobody looks at is worth a warning. nvcc's front end also warns of `status =
// call()`.
#if defined(__NVCC__)
#define WEFT_NODISCARD
#else
#define WEFT_NODISCARD [[nodiscard]]
#endif

// Around code that loads and uses values under the same condition, which GCC does not see.
#if defined(__GNUC__) && !defined(__clang__)
#define WEFT_DEVICE_LOADED_UNDER_SAME_CONDITION \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
#define WEFT_DEVICE_END_OF_LOADED _Pragma("GCC diagnostic pop")
#else
#define WEFT_DEVICE_LOADED_UNDER_SAME_CONDITION
#define WEFT_DEVICE_END_OF_LOADED
#endif

// Symbols of libweft that a program may use; everything else is hidden.
#if defined(__GNUC__)
#define WEFT_API [[gnu::visibility("default")]]
#else
#define WEFT_API
#endif
