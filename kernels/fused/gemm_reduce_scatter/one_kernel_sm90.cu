// On NVIDIA's GPUs of compute capability 9.0.
#include <algorithm>
#include <utility>

#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_kernels_sm90.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_target.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/tensor_map_sm90.hpp"

namespace weft::kernels::gemm_rs {
namespace {

using gemm::failed;

class Sm90OneKernel : public OneKernelTarget {
 public:
  Sm90OneKernel(const gemm::Gpu& gpu, const GemmProblem& problem, int members,
                const DeviceModel& device, int tile, bool scatters, gemm::Encode* encode)
      : gpu_(gpu),
        p_(problem),
        count_(members),
        device_(device),
        tile_(tile),
        scatters_(scatters),
        largest_(plan_for(static_cast<int>(problem.m))),
        maps_(problem.dtype, encode) {}

  Status start() {
    for (int i = kOneKernelTiles.first; i < kOneKernelTiles.end; ++i)
      if (fits_one_kernel(gemm::tile_at(i), scatters_))
        RETURN_IF_FAILED("preparing a kernel", kernel(i).prepare());
    return Status::ok();
  }

  // Fewer rows may have tiles of another height: room for either.
  std::uint64_t words() const override {
    std::uint64_t most = 0;
    for (int i = kOneKernelTiles.first; i < kOneKernelTiles.end; ++i) {
      const gemm::Tile& tile = gemm::tile_at(i);
      if (!fits_one_kernel(tile, scatters_)) continue;
      const auto tiles =
          static_cast<std::uint64_t>(gemm::ceil_div(static_cast<int>(p_.m), tile.m)) *
          static_cast<std::uint64_t>(gemm::ceil_div(static_cast<int>(p_.n), tile.n));
      most = std::max(most, tiles * kernel(i).travels);
    }
    return most;
  }

  Status run(Stream stream, const OneKernelMembers& members, void* c, const void* a, const void* b,
             int rows) override {
    RETURN_IF_ERROR(gemm::check_current(gpu_));
    const int n = static_cast<int>(p_.n), k = static_cast<int>(p_.k);
    sm90::OneKernelCall call{};
    call.plan = rows == p_.m ? largest_ : plan_for(rows);
    // The next call's blocks, which wait for this one, must not keep out those of another member on
    // the same GPU, for which this one waits.
    call.plan.gemm.starts_early &= device_.num_sms == gpu_.num_sms;
    const sm90::KernelEntry<sm90::OneKernelCall>& chosen = kernel(call.plan.gemm.tile);
    const gemm::Tile& tile = gemm::tile_at(call.plan.gemm.tile);
    RETURN_IF_ERROR(maps_.operands(p_, {a, b, 1, rows, tile.m, chosen.box_b}, &call.operands));
    call.members = members;
    call.c = c;
    call.stride = p_.ldc;
    call.m = rows;
    call.n = n;
    call.k = k;
    call.stream = static_cast<cudaStream_t>(stream);
    RETURN_IF_FAILED("launching a kernel", chosen.run(call));
    return Status::ok();
  }

  std::string describe() const override {
    return gemm::describe(largest_.gemm) + ", " + to_string(largest_.reduction);
  }

 private:
  OneKernelPlan plan_for(int rows) const {
    return one_kernel_plan(
        {count_, rows, static_cast<int>(p_.n), static_cast<int>(p_.k), scatters_}, device_, tile_);
  }
  const sm90::KernelEntry<sm90::OneKernelCall>& kernel(int tile) const {
    return sm90::one_kernel_entry(p_.dtype, tile);
  }

  const gemm::Gpu gpu_;
  const GemmProblem p_;  // m: most rows
  const int count_;      // of members
  const DeviceModel device_;
  const int tile_;
  const bool scatters_;
  const OneKernelPlan largest_;
  gemm::TensorMaps maps_;
};

}  // namespace

Result<DeviceModel> one_kernel_device_model(const GemmOptions& options) {
  return gemm::device_model_of(
      options, sm90::one_kernel_entry(DType::kBfloat16, gemm::tile_of(64, 64, true)), 1,
      kMostSplits);
}

Result<std::unique_ptr<OneKernelTarget>> make_one_kernel_sm90(const GemmProblem& problem,
                                                              int members,
                                                              const DeviceModel& device, int tile,
                                                              bool scatters) {
  gemm::Gpu gpu;
  ASSIGN_OR_RETURN(gpu, gemm::current_gpu());
  gemm::Encode* encode = nullptr;
  ASSIGN_OR_RETURN(encode, gemm::find_encode());
  auto made =
      std::make_unique<Sm90OneKernel>(gpu, problem, members, device, tile, scatters, encode);
  RETURN_IF_ERROR(made->start());
  return std::unique_ptr<OneKernelTarget>(std::move(made));
}

}  // namespace weft::kernels::gemm_rs
