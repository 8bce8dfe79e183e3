// On NVIDIA's GPUs of compute capability 9.0: one kernel, which multiplies, sends and adds up.
#include <algorithm>
#include <utility>

#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_target.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_kernels_sm90.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/tensor_map_sm90.hpp"

namespace weft::kernels::gemm_rs {
namespace {

using gemm::failed;

class Sm90Overlapped : public OverlappedTarget {
 public:
  Sm90Overlapped(const gemm::Gpu& gpu, const GemmProblem& problem, int members,
                 const DeviceModel& device, const Plan& largest, gemm::Encode* encode)
      : gpu_(gpu),
        p_(problem),
        count_(members),
        device_(device),
        largest_(largest),
        kernel_(sm90::scatter_entry(problem.dtype, largest.gemm.tile)),
        maps_(problem.dtype, encode) {}

  Status start() const {
    RETURN_IF_FAILED("preparing a kernel", kernel_.prepare());
    return Status::ok();
  }

  Needs needs() const override {
    const gemm::Plan& p = largest_.gemm;
    const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(p.tile)];
    return {static_cast<std::uint64_t>(p.rows) * static_cast<std::uint64_t>(tile.sharing) *
                static_cast<std::uint64_t>(p.columns),
            kernel_.travels, sm90::kTileFlags};
  }

  Status run(Stream stream, const Members& members, void* c, const void* a, const void* b,
             int rows) override {
    RETURN_IF_ERROR(gemm::check_current(gpu_));
    const int n = static_cast<int>(p_.n), k = static_cast<int>(p_.k);
    sm90::ScatterCall call{};
    call.plan = rows == p_.m ? largest_
                             : overlapped_plan({count_, rows, n, k}, device_, largest_.gemm.tile);
    const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(largest_.gemm.tile)];
    RETURN_IF_ERROR(
        maps_.operands(p_, {a, b, count_, rows, tile.m, kernel_.box_b}, &call.operands));
    RETURN_IF_ERROR(maps_.get({c, 1, rows, n, p_.ldc, 64, kernel_.box_c}, &call.c));
    call.members = members;
    call.k = k;
    call.stream = static_cast<cudaStream_t>(stream);
    RETURN_IF_FAILED("launching a kernel", kernel_.run(call));
    return Status::ok();
  }

  std::string describe() const override {
    gemm::Plan all = largest_.gemm;
    all.us = largest_.us;
    return gemm::describe(all);
  }

 private:
  const gemm::Gpu gpu_;
  const GemmProblem p_;  // m: rows of each member
  const int count_;      // of members
  const DeviceModel device_;
  const Plan largest_;
  const sm90::KernelEntry<sm90::ScatterCall>& kernel_;
  gemm::TensorMaps maps_;
};

}  // namespace

Result<DeviceModel> overlapped_device_model(const GemmOptions& options) {
  return gemm::device_model_of(
      options, sm90::scatter_entry(DType::kBfloat16, gemm::tile_of(128, 128)), 2, 2);
}

Result<std::unique_ptr<OverlappedTarget>> make_overlapped_sm90(const GemmProblem& problem,
                                                               int members,
                                                               const DeviceModel& device,
                                                               int tile) {
  gemm::Gpu gpu;
  ASSIGN_OR_RETURN(gpu, gemm::current_gpu());
  gemm::Encode* encode = nullptr;
  ASSIGN_OR_RETURN(encode, gemm::find_encode());
  const Shape shape{members, static_cast<int>(problem.m), static_cast<int>(problem.n),
                    static_cast<int>(problem.k)};
  auto made = std::make_unique<Sm90Overlapped>(gpu, problem, members, device,
                                               overlapped_plan(shape, device, tile), encode);
  RETURN_IF_ERROR(made->start());
  return std::unique_ptr<OverlappedTarget>(std::move(made));
}

}  // namespace weft::kernels::gemm_rs
