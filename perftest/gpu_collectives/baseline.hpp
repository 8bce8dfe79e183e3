// NCCL beside an operator, on buffers of the program's own, and on buffers in symmetric windows of
// NCCL's where it has those (2.27), for which it has faster kernels of small messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/kernels/plan.hpp>

#include "perftest/gpu_collectives/graph.hpp"
#include "perftest/gpu_collectives/nccl.hpp"

namespace weft::perf::collectives {

using weft::kernels::Collective;

struct Buffers {
  std::byte *out = nullptr, *in = nullptr;
};

class NcclBaseline {
 public:
  // Buffers of so many bytes; `travels` is what is to travel. Collective.
  static Result<NcclBaseline> create(Runtime& rt, const std::string& path, const void* travels,
                                     std::size_t bytes) {
    NcclBaseline made;
    ASSIGN_OR_RETURN(made.nccl_, Nccl::create(rt, path));
    made.npes_ = rt.npes();
    // None of Weft's, which NCCL would register: its AllToAll of 1 MiB did not end there.
    Buffers plain;
    for (std::byte** const memory : {&plain.out, &plain.in})
      RETURN_IF_ERROR(of(cudaMalloc(memory, bytes)));
    RETURN_IF_ERROR(of(cudaMemcpy(plain.in, travels, bytes, cudaMemcpyHostToDevice)));
    made.buffers_.push_back(plain);
    Buffers windows;
    for (std::byte** const memory : {&windows.out, &windows.in}) {
      ASSIGN_OR_RETURN(void* const at, made.nccl_.window(bytes));
      *memory = static_cast<std::byte*>(at);
    }
    if (windows.in == nullptr) return made;
    RETURN_IF_ERROR(of(cudaMemcpy(windows.in, plain.in, bytes, cudaMemcpyDeviceToDevice)));
    made.buffers_.push_back(windows);
    return made;
  }
  // The ways that it has: each with buffers of its own. A broadcast has none for windows
  // (NCCL 2.28): it took as long there as on plain buffers, and in one run of all collectives did
  // not end.
  std::span<const Buffers> buffers(Collective what) const {
    return {buffers_.data(), what == Collective::kBroadcast ? 1 : buffers_.size()};
  }

  // `count` elements of bfloat16, as the collective counts them.
  Status call(Collective what, Stream stream, const Buffers& at, std::size_t count) const {
    const int result = run(what, static_cast<cudaStream_t>(stream), at, count);
    if (result == 0) return Status::ok();
    return Status::error(Code::kInternal, "NCCL failed with " + std::to_string(result));
  }

 private:
  int run(Collective what, cudaStream_t stream, const Buffers& at, std::size_t count) const {
    constexpr int type = Nccl::kBfloat16, sum = Nccl::kSum;
    const Nccl& n = nccl_;
    switch (what) {
      case Collective::kAllReduce:
      case Collective::kAllReduceNorm:
        return n.all_reduce(at.in, at.out, count, type, sum, n.comm, stream);
      case Collective::kAllGather: return n.all_gather(at.in, at.out, count, type, n.comm, stream);
      case Collective::kReduceScatter:
        return n.reduce_scatter(at.in, at.out, count, type, sum, n.comm, stream);
      case Collective::kBroadcast:
        return n.broadcast(at.in, at.out, count, type, 0, n.comm, stream);
      case Collective::kAllToAll:
      case Collective::kAllToAllV: break;  // of an AllToAllV it is told the counts
    }
    n.group_start();
    for (int pe = 0; pe < npes_; ++pe) {
      const std::size_t part = static_cast<std::size_t>(pe) * count * 2;
      n.send(at.in + part, count, type, pe, n.comm, stream);
      n.receive(at.out + part, count, type, pe, n.comm, stream);
    }
    return n.group_end();
  }

  Nccl nccl_;
  int npes_ = 1;
  std::vector<Buffers> buffers_;
};

}  // namespace weft::perf::collectives
