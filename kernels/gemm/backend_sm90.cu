// The backend of sm_90a: plans, describes matrices to the copy engine, launches.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/plan_sm80.hpp"
#include "kernels/gemm/tensor_map_sm90.hpp"
#include "kernels/gemm/tile_call_sm90.hpp"

namespace weft::kernels::gemm {
namespace {

using Kernel = sm90::KernelEntry<sm90::Call>;
using Kernels = std::array<Kernel, kAllTiles>;  // those of a type

const Kernels& kernels_of(DType dtype) {
  if (dtype == DType::kFloat8E4m3) return sm90::TileKernels::of<E4m3>();
  return sm90::TileKernels::of(dtype);
}

TileRange tiles_of(DType dtype) { return dtype == DType::kFloat8E4m3 ? kOfE4m3 : kOfTwoBytes; }

// To copies, plans and epilogues two e4m3 that are neighbours along k are one bfloat16.
GemmProblem in_pairs(GemmProblem p) {
  if (p.dtype != DType::kFloat8E4m3) return p;
  p.k /= 2;
  p.lda /= 2;
  p.ldb /= 2;
  p.dtype = DType::kBfloat16;
  return p;
}

class Sm90 : public GpuBackend {
 public:
  Sm90(const Gpu& gpu, const GemmProblem& problem, bool constant_b, int tile, int segments,
       Encode* encode)
      : GpuBackend(gpu, in_pairs(problem)),
        constant_b_(constant_b),
        segments_(segments),
        kernels_(kernels_of(problem.dtype)),
        tiles_(tiles_of(problem.dtype)),
        tile_(tile),
        maps_(p_.dtype, encode) {}

  Status start(int num_sms) {
    device_.num_sms = num_sms;
    const int split = tile_of(64, 64, true, tiles_);
    RETURN_IF_ERROR(prepare(split));
    RETURN_IF_ERROR(ask_clusters(kernels_[split].clusters, &device_));
    if (p_.m > 0 && p_.n > 0 && p_.k > 0) plan_for(static_cast<int>(p_.m));
    return Status::ok();
  }

  Status run(Stream stream, void* c, const void* a, const void* b, int m,
             const GemmScales& scales) override {
    return run(stream, c, a, b, m, scales, nullptr);
  }
  Status run_gathering(Stream stream, void* c, const void* a, const void* b,
                       const AllGatherBuffer& gather_buffer) override {
    return run(stream, c, a, b, gather_buffer.rows, {}, &gather_buffer);
  }

  std::string describe() const override {
    return planned_ == 0 ? "nothing to multiply" : gemm::describe(plan_);
  }

 private:
  Status run(Stream stream, void* c, const void* a, const void* b, int m, const GemmScales& scales,
             const AllGatherBuffer* gather_buffer) {
    RETURN_IF_ERROR(check_current(gpu_));
    if (m != planned_) plan_for(m);
    RETURN_IF_ERROR(prepare(plan_.tile));
    const Tile& tile = tile_at(plan_.tile);
    const Kernel& kernel = kernels_[plan_.tile];
    const int n = static_cast<int>(p_.n), k = static_cast<int>(p_.k);
    sm90::Call call{};
    RETURN_IF_ERROR(maps_.operands(p_, {a, b, 1, m, tile.m, kernel.box_b}, &call.operands));
    call.last_first = std::max(1, m / tile.m) * tile.m;
    call.last_rows = ceil_div(std::max(0, m - call.last_first), 8) * 8;
    if (call.last_rows > 0)
      RETURN_IF_ERROR(maps_.get({a, 1, m, k, p_.lda, call.last_rows, sm90::kKBlock}, &call.last));
    // Columns behind the last eight are stored without it; it has to have some, though.
    const int copied = std::max(8, sm90::copied_columns(n));
    RETURN_IF_ERROR(maps_.get({c, segments_, m, copied, p_.ldc, 64, kernel.box_c}, &call.c));
    if (gather_buffer != nullptr) {
      const int columns = gather_buffer->part_blocks * sm90::kKBlock;
      RETURN_IF_ERROR(
          maps_.get({gather_buffer->segments, 2 * segments_ * gather_buffer->parts, m, columns,
                     columns, call.operands.rows_a, sm90::kKBlock, gather_buffer->most_rows},
                    &call.gathered));
      call.prologue_wait = sm90::PrologueWait(*gather_buffer);
      call.first = gather_buffer->own;
    }
    call.data = c;
    call.stride = p_.ldc;
    call.m = m;
    call.n = n;
    call.k = k;
    call.plan = plan_;
    call.plan.starts_early = gather_buffer == nullptr && (plan_.starts_early || constant_b_);
    call.constant_b = constant_b_;
    call.stream = static_cast<cudaStream_t>(stream);
    call.scales = {scales.a, scales.b, m, ceil_div(n, kScaled), ceil_div(k, kScaled / 2)};
    RETURN_IF_FAILED("launching a kernel", kernel.run(call));
    return Status::ok();
  }

  void plan_for(int m) {
    plan_ =
        plan(m, static_cast<int>(p_.n), static_cast<int>(p_.k), device_, tile_, segments_, tiles_);
    planned_ = m;
  }
  Status prepare(int tile) {
    if (prepared_[tile]) return Status::ok();
    RETURN_IF_FAILED("preparing a kernel", kernels_[tile].prepare());
    prepared_[tile] = true;
    return Status::ok();
  }

  const bool constant_b_;
  const int segments_;  // of C
  const Kernels& kernels_;
  const TileRange tiles_;
  const int tile_;  // -1: the plan says
  TensorMaps maps_;
  DeviceModel device_;
  Plan plan_;
  int planned_ = 0;  // rows that plan_ is for
  std::array<bool, kAllTiles> prepared_{};
};

}  // namespace

Result<std::unique_ptr<GpuBackend>> make_gathering_sm90(const Gpu& gpu, const GemmProblem& problem,
                                                        const GemmOptions& options, int segments) {
  int tile = -1;
  ASSIGN_OR_RETURN(tile, tile_named("Gemm", options.tile, tiles_of(problem.dtype)));
  Encode* encode = nullptr;
  ASSIGN_OR_RETURN(encode, find_encode());
  auto made = std::make_unique<Sm90>(gpu, problem, options.constant_b, tile, segments, encode);
  RETURN_IF_ERROR(made->start(num_sms_of(gpu, options)));
  return std::unique_ptr<GpuBackend>(std::move(made));
}

Result<std::unique_ptr<Backend>> make_sm90(const GemmProblem& problem, const GemmOptions& options) {
  if (options.backend == GemmBackend::kCublas) return refuse("options.backend asks for cuBLAS");
  if (problem.dtype != DType::kFloat8E4m3 && sm80::is_name(options.tile))
    return refuse("options.tile is one of sm80's");
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  if (!has_sm90(gpu))
    return refuse(
        "this libweft_kernels was built without its kernels; configure Weft with 90a among "
        "WEFT_CUDA_ARCHITECTURES");
  std::unique_ptr<GpuBackend> made;
  ASSIGN_OR_RETURN(made, make_gathering_sm90(gpu, problem, options, 1));
  return std::unique_ptr<Backend>(std::move(made));
}

}  // namespace weft::kernels::gemm
