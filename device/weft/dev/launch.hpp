// Bodies of weft/device/launch.hpp for the three targets.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <weft/device/launch.hpp>

#if WEFT_TARGET_CPU
#include <memory>
#endif

#if WEFT_DEVICE_BODIES  // else nvcc, which includes what is needed of CUDA by itself
#include <weft/dev/platform.hpp>
#endif

namespace weft::dev {
inline namespace WEFT_TARGET {

#if WEFT_TARGET_CPU

namespace launching {

template <class Kernel>
void enter(const void* kernel, weft::cpu::ThreadState& state) {
  const platform::Identity identity(state);
  (*static_cast<const Kernel*>(kernel))();
}

}  // namespace launching

template <class Kernel>
Status launch(Grid grid, Kernel kernel, Stream stream) {
  return weft::cpu::launch(grid.blocks, grid.threads, grid.shared_bytes, &launching::enter<Kernel>,
                           std::make_shared<const Kernel>(std::move(kernel)), stream);
}

inline Status synchronize(Stream stream) { return weft::cpu::synchronize(stream); }
inline Status create_stream(Stream* stream) { return weft::cpu::create_stream(stream); }
inline Status destroy_stream(Stream stream) { return weft::cpu::destroy_stream(stream); }

#else

namespace launching {

// Before main(): who compiles kernels for a GPU means to run them there.
inline const bool noted = weft::detail::note_gpu_kernels(
    WEFT_TARGET_CUDA ? weft::detail::GpuKind::kCuda : weft::detail::GpuKind::kHip);

#if WEFT_TARGET_CUDA
using Error = cudaError_t;
using NativeStream = cudaStream_t;
inline const char* text(Error error) { return cudaGetErrorString(error); }
inline Error start(const void* entry, const Grid& grid, void** arguments, NativeStream stream) {
  if (grid.cluster == 1 && !grid.starts_early)
    return cudaLaunchKernel(entry, dim3(grid.blocks), dim3(grid.threads), arguments,
                            grid.shared_bytes, stream);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = grid.cluster;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.blocks);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = grid.starts_early ? 2 : 1;
  return cudaLaunchKernelExC(&config, entry, arguments);
}
inline Error wait(NativeStream stream) { return cudaStreamSynchronize(stream); }
inline Error create(NativeStream* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
inline Error destroy(NativeStream stream) { return cudaStreamDestroy(stream); }
// More than the default 48 KB has to be asked for.
template <class Entry>
Error allow_shared(Entry* entry, std::size_t bytes) {
  if (bytes <= 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(bytes));
}
inline constexpr Error kDone = cudaSuccess;
#else
using Error = hipError_t;
using NativeStream = hipStream_t;
inline const char* text(Error error) { return hipGetErrorString(error); }
inline Error start(const void* entry, const Grid& grid, void** arguments, NativeStream stream) {
  if (grid.cluster != 1) return hipErrorNotSupported;
  return hipLaunchKernel(entry, dim3(grid.blocks), dim3(grid.threads), arguments, grid.shared_bytes,
                         stream);
}
inline Error wait(NativeStream stream) { return hipStreamSynchronize(stream); }
inline Error create(NativeStream* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamNonBlocking);
}
inline Error destroy(NativeStream stream) { return hipStreamDestroy(stream); }
template <class Entry>
Error allow_shared(Entry*, std::size_t) {
  return hipSuccess;
}
inline constexpr Error kDone = hipSuccess;
#endif

// Texts are made in libweft: what kernels include declares no std::string, which takes longer to
// compile than all of the device API.
inline Status status_of(Error error, const char* what) {
  return error == kDone ? Status::ok()
                        : weft::detail::stream_failed(what, text(error), static_cast<int>(error));
}

template <class Kernel, class = void>
struct MostThreads {
  static constexpr unsigned value = 1024;
};
template <class Kernel>
struct MostThreads<Kernel, std::void_t<decltype(Kernel::kMostThreads)> > {
  static constexpr unsigned value = Kernel::kMostThreads;
};

// Bounded, or the compiler might take more registers than a block of that size has.
template <class Kernel>
__global__ __launch_bounds__(MostThreads<Kernel>::value) void enter(const Kernel kernel) {
  kernel();
}

}  // namespace launching

template <class Kernel>
Status launch(Grid grid, Kernel kernel, Stream stream) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel is copied to the GPU byte by byte");
  Status fits = weft::detail::check_grid(grid, launching::MostThreads<Kernel>::value);
  if (!fits) return fits;
  const auto entry = &launching::enter<Kernel>;
  launching::Error error = launching::allow_shared(entry, grid.shared_bytes);
  if (error == launching::kDone) {
    void* arguments[] = {&kernel};
    error = launching::start(reinterpret_cast<const void*>(entry), grid, arguments,
                             static_cast<launching::NativeStream>(stream));
  }
  if (error != launching::kDone)
    return weft::detail::launch_failed(grid, launching::text(error), static_cast<int>(error));
  weft::detail::note_launch(__PRETTY_FUNCTION__);
  return Status::ok();
}

inline Status synchronize(Stream stream) {
  return launching::status_of(launching::wait(static_cast<launching::NativeStream>(stream)),
                              "waiting for a stream");
}

inline Status create_stream(Stream* stream) {
  launching::NativeStream made = nullptr;
  Status status = launching::status_of(launching::create(&made), "creating a stream");
  *stream = made;
  return status;
}

inline Status destroy_stream(Stream stream) {
  return launching::status_of(launching::destroy(static_cast<launching::NativeStream>(stream)),
                              "destroying a stream");
}

#endif

}  // namespace WEFT_TARGET
}  // namespace weft::dev
