// Launching kernels: one way for CUDA, HIP and the CPU target.
//
//   struct Ring {
//     weft::DeviceContext handle;
//     std::uint64_t* word;
//     WEFT_DEVICE void operator()() const {
//       weft::dev::Context ctx(handle);
//       ...
//     }
//   };
//   weft::dev::launch({.blocks = 2, .threads = 64}, Ring{handle, word});
//
// On the CPU target a grid is host threads: all blocks run at once, so blocks and PEs may wait for
// each other (kernels that do so on a GPU need a grid that fits on it at once, too). A launch
// returns when the kernel is queued, not when it has run; synchronize() waits for it.
#pragma once

#include <cstddef>

#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/target.hpp>

namespace weft::dev {

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;          // per block
  std::size_t shared_bytes = 0;  // dynamic shared memory per block: dev::shared<T>()
  unsigned cluster = 1;          // blocks of a cluster: more than one on NVIDIA's from sm_90 on
  // On NVIDIA's from sm_90 on, programmatic dependent launch: blocks may start while the kernel
  // before is still at work, and wait for its end by themselves (griddepcontrol.wait).
  bool starts_early = false;
};

}  // namespace weft::dev

namespace weft::detail {
enum class GpuKind : unsigned { kCuda = 1, kHip = 2 };
// This program has kernels for such a GPU, so that a runtime looks for one. Always true.
WEFT_API bool note_gpu_kernels(GpuKind kind);
// This program has kernels for host threads, so that its memory is theirs. Always true.
WEFT_API bool note_host_kernels();
// An error unless the grid has blocks in whole clusters, and threads, of which no block has more
// than `most_threads`.
WEFT_API Status check_grid(const dev::Grid& grid, unsigned most_threads);
// The text of a kernel's failure, which is known only at a later call, names these: the last
// kernels that this process launched, by the signature of a function that is made for each, and the
// last operators. Operators' own kernels are not told.
WEFT_API void note_launch(const char* signature);
WEFT_API void note_operator(const char* name);
// `why`, `error`: what the GPU's runtime says of it, and its number.
WEFT_API Status launch_failed(const dev::Grid& grid, const char* why, int error);
WEFT_API Status stream_failed(const char* what, const char* why, int error);
}  // namespace weft::detail

namespace weft::dev {

inline namespace WEFT_TARGET {

// `kernel` is copied; on GPUs it must be trivially copyable, and a block has at most 1024 threads:
// a `static constexpr unsigned kMostThreads` of the kernel that says less leaves each more
// registers.
template <class Kernel>
Status launch(Grid grid, Kernel kernel, Stream stream = nullptr);

// Everything queued on the stream has run.
Status synchronize(Stream stream = nullptr);
Status create_stream(Stream* stream);
Status destroy_stream(Stream stream);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
