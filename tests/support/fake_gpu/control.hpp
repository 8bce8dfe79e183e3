// libfakecuda and libfakehip: the functions of the vendors' drivers that Weft calls, on memory of
// the host.
//
// GPUs count from 0; memory of one is a memfd, a mapping is a mapping of that, and addresses are
// the host's, so that tests may look at what a real GPU would hide. Copies and fills check what a
// GPU may reach. A stream is a thread; the default stream is whoever calls.
//
// The environment says what there is:
//   FAKE_GPU_DEVICES       how many GPUs; 2
//   FAKE_GPU_BYTES         memory of each; 1 GiB, counted per process
//   FAKE_GPU_NO_PEER       pairs that do not reach each other: "0-1,2-3"
//   FAKE_GPU_WAYS          how created memory can be shared: "fd,fabric"; fd. "none": not at all
//   FAKE_GPU_MANAGED       1: whoever asks hears that memory moves between GPUs and the host
//   FAKE_GPU_DMABUF        0: memory is not exported to other devices
//   FAKE_GPU_VERSION       HIP's; 70200000. Before 7.0 it does not create uncached memory, before
//                          7.1 it takes a descriptor by its address
//   FAKE_GPU_FAIL          "cuMemCreate:3:2": the third call of it fails with error 2, by
//                           CUDA's name in either library; several are
//                           separated by commas. After the failure of a kernel (700 and the
//                           like) all calls fail, as on a GPU
// It is read at the first call and by fake_gpu_reload(). As with the driver, a process that was
// forked after cuInit() gets CUDA_ERROR_NOT_INITIALIZED.
#pragma once

#include <cstddef>

namespace weft::test {

// The objects that exist now; `current` is of the calling thread.
struct FakeGpuLive {
  std::size_t reservations, handles, mappings, host_blocks, streams, allocations;
  std::size_t bytes;    // of memory created here and not yet free, on all GPUs
  std::size_t current;  // depth of the stack of contexts
  bool operator==(const FakeGpuLive&) const = default;
};

// The object that a test gives out as a CUmodule or CUlibrary: code with one symbol.
struct FakeGpuModule {
  const char* symbol;
  void* address;
  std::size_t bytes;
};

using FakeGpuReload = void();                 // "fake_gpu_reload": and counts calls from one again
using FakeGpuCount = void(FakeGpuLive* out);  // "fake_gpu_count"

}  // namespace weft::test
