// The rows of libweft_perf_cuda.so, by the functions that measure them.
#pragma once

#include <span>
#include <string_view>

#include "perftest/gpu/kernel_points.hpp"
#include "perftest/registry.hpp"

namespace weft::perf::gpu {

// Rows that measure the points of kernel_points.hpp.
struct Named {
  std::string_view row;
  What what;
};
inline constexpr Named kNamed[] = {
    {"gpu_put", What::kPut},
    {"gpu_get", What::kGet},
    {"gpu_put_quiet", What::kPutQuiet},
    {"gpu_signal", What::kSignal},
    {"gpu_put_signal", What::kPutSignal},
    {"gpu_fetch_add", What::kFetchAdd},
    {"gpu_barrier", What::kBarrier},
    {"gpu_sync", What::kSync},
    {"gpu_fcollect", What::kFcollect},
    {"gpu_reduce", What::kReduce},
};
Status run_points(Job& job, std::span<const Row* const> rows, Reporter& out);

// Requests of kernels to the host.
Status run_ring(Job& job, std::span<const Row* const> rows, Reporter& out);

Status start_weft(const Options& options, const Row& row, Reporter& out);
Status start_floor(const Options& options, const Row& row, Reporter& out);

}  // namespace weft::perf::gpu
