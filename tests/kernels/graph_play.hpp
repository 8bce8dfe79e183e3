// Work in a CUDA graph that is replayed, and nothing of the host in between.
#pragma once

#include <cuda_runtime_api.h>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"

namespace weft::kernels::test {

inline Status of(cudaError_t error) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, cudaGetErrorString(error));
}

// Runs what work(stream) queues, so many times; all of it has run on return. Collective over the
// job.
template <class Work>
Status replay_in_graph(Runtime& rt, int times, const Work& work) {
  Stream stream = nullptr;
  RETURN_IF_ERROR(dev::create_stream(&stream));
  auto* const native = static_cast<cudaStream_t>(stream);
  RETURN_IF_ERROR(of(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal)));
  RETURN_IF_ERROR(work(stream));
  cudaGraph_t graph = nullptr;
  RETURN_IF_ERROR(of(cudaStreamEndCapture(native, &graph)));
  cudaGraphExec_t exec = nullptr;
  RETURN_IF_ERROR(of(cudaGraphInstantiate(&exec, graph, 0)));
  RETURN_IF_ERROR(of(cudaGraphUpload(exec, native)));
  RETURN_IF_ERROR(dev::synchronize(stream));
  RETURN_IF_ERROR(rt.barrier());
  for (int i = 0; i < times; ++i) RETURN_IF_ERROR(of(cudaGraphLaunch(exec, native)));
  RETURN_IF_ERROR(dev::synchronize(stream));
  RETURN_IF_ERROR(of(cudaGraphExecDestroy(exec)));
  RETURN_IF_ERROR(of(cudaGraphDestroy(graph)));
  return dev::destroy_stream(stream);
}

}  // namespace weft::kernels::test
