// ib: PEs of other hosts, by InfiniBand or RoCE.
//
// Puts and gets are RDMA writes and reads, large ones by several ports side by side. An atomic is a
// request that the owner of the word executes by a thread of its own, so that it is one among those
// of its host; or the device's, where that is as good. Queue pairs are made when a lane first
// speaks to a PE. When a port fails and there is another, the job goes on by that.
#pragma once

#include <string>

#include "host/transport/transport.hpp"

namespace weft {

// The ports that it would use, "mlx5_0 port 1, RoCE v2 (10.0.0.1) by GID 3, atomics by the device,
// and mlx5_1 port 1, ...", or why there is none.
Result<std::string> ib_port(const Options& options);
// How that port reaches memory of a GPU, and why not otherwise.
Result<std::string> ib_gpu_memory(const Options& options, Platform& gpu);

}  // namespace weft
