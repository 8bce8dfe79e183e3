// ib: PEs of other hosts, by InfiniBand or RoCE.
//
// Puts and gets are RDMA writes and reads; an atomic is a request that the owner of the word
// executes by a thread of its own, so that it is one among those of its host. Queue pairs are made
// when a lane first speaks to a PE.
#pragma once

#include <memory>
#include <string>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_ib(const TransportEnv& env);

// The port that it would use, "mlx5_0 port 1, RoCE v2 (10.0.0.1) by GID 3", or why there is none.
Result<std::string> ib_port(const Options& options);
// How that port reaches memory of a GPU, and why not otherwise.
Result<std::string> ib_gpu_memory(const Options& options, Platform& gpu);

}  // namespace weft
