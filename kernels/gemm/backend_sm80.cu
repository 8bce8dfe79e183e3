// The backend of compute capability 8.x: plans and launches. Later GPUs run it as well.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/kernel_sm80.hpp"
#include "kernels/gemm/plan_sm80.hpp"

namespace weft::kernels::gemm {
namespace {

using Scheduler = TileScheduler<false>;

struct Call {
  const void* a;
  const void* b;
  void* c;
  GemmProblem problem;  // of the rows that there are
  sm80::Plan plan;
  cudaStream_t stream;
};

struct Kernel {
  const void* entry;
  int shared_bytes;
  cudaError_t (*run)(const Call&);
};
using Kernels = std::array<Kernel, sm80::kTiles.size()>;

template <class T, int kTile>
struct Launch {
  static constexpr sm80::Tile kShape = sm80::kTiles[kTile];
  using Shape = sm80::Shape<T, kShape.m, kShape.n, kShape.k_block, kShape.stages>;
  static const void* entry() {
    return reinterpret_cast<const void*>(&sm80::gemm_kernel<Shape, Scheduler>);
  }
  static cudaError_t run(const Call& call) {
    const GemmProblem& p = call.problem;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    sm80::Params<T, Scheduler> params{
        static_cast<const T*>(call.a),
        static_cast<const T*>(call.b),
        static_cast<T*>(call.c),
        p.lda,
        p.ldb,
        p.ldc,
        m,
        n,
        k,
        Scheduler{1, 0, call.plan.rows, call.plan.columns, call.plan.group_rows, kShape.m, kShape.n,
                  1, ceil_div(k, kShape.k_block)}};
    void* pointers[] = {&params};
    return cudaLaunchKernel(entry(), dim3(static_cast<unsigned>(call.plan.blocks)),
                            dim3(sm80::kThreads), pointers, Shape::kBytes, call.stream);
  }
};

template <class T, int... kTile>
Kernels kernels_of(std::integer_sequence<int, kTile...>) {
  return {{Kernel{Launch<T, kTile>::entry(), Launch<T, kTile>::Shape::kBytes,
                  &Launch<T, kTile>::run}...}};
}

const Kernels& kernels_of(DType dtype) {
  using Tiles = std::make_integer_sequence<int, sm80::kTileCount>;
  static const Kernels bfloat16 = kernels_of<__nv_bfloat16>(Tiles());
  static const Kernels float16 = kernels_of<__half>(Tiles());
  return dtype == DType::kBfloat16 ? bfloat16 : float16;
}

class Sm80 : public GpuBackend {
 public:
  Sm80(const Gpu& gpu, const GemmProblem& problem, int tile)
      : GpuBackend(gpu, problem), kernels_(kernels_of(problem.dtype)), tile_(tile) {}

  // `most`: SMs that it may take, 0: all.
  Status start(int most) {
    device_.num_sms = gpu_.num_sms;
    const bool takes_all = most == 0 || most >= gpu_.num_sms;
    if (!takes_all) device_.num_sms = most;
    for (int i = 0; i < sm80::kTileCount; ++i) {
      int blocks = 0;
      RETURN_IF_ERROR(prepare(kernels_[i], &blocks));
      // Blocks go to SMs that have none first: of some of them, each gets one.
      device_.blocks[i] = device_.num_sms * (takes_all ? blocks : 1);
    }
    if (p_.m > 0 && p_.n > 0 && p_.k > 0) plan_for(static_cast<int>(p_.m));
    return Status::ok();
  }

  Status run(Stream stream, void* c, const void* a, const void* b, int m,
             const GemmScales&) override {
    RETURN_IF_ERROR(check_current(gpu_));
    if (m != planned_) plan_for(m);
    GemmProblem problem = p_;
    problem.m = m;
    RETURN_IF_FAILED(
        "launching a kernel",
        kernels_[plan_.tile].run({a, b, c, problem, plan_, static_cast<cudaStream_t>(stream)}));
    return Status::ok();
  }

  std::string describe() const override {
    return planned_ == 0 ? "nothing to multiply" : sm80::describe(plan_);
  }

 private:
  void plan_for(int m) {
    plan_ = sm80::plan(m, static_cast<int>(p_.n), device_, tile_);
    planned_ = m;
  }
  // `blocks`: that run on an SM at a time.
  Status prepare(const Kernel& kernel, int* blocks) const {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel.entry, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
      (void)cudaGetLastError();  // it is told here
      return Status::error(
          Code::kUnsupported,
          fmt::format("Gemm: this libweft_kernels was built without kernels for this GPU: "
                      "configure Weft with {} among WEFT_CUDA_ARCHITECTURES, or install cuBLAS "
                      "and leave options.backend kAuto",
                      gpu_.capability));
    }
    RETURN_IF_FAILED("preparing a kernel", error);
    RETURN_IF_FAILED(
        "asking how many blocks run at a time",
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks, kernel.entry, sm80::kThreads, static_cast<std::size_t>(kernel.shared_bytes)));
    return Status::ok();
  }

  const Kernels& kernels_;
  const int tile_;  // of sm80::kTiles; -1: the plan says
  sm80::DeviceModel device_;
  sm80::Plan plan_;
  int planned_ = 0;  // rows that plan_ is for
};

}  // namespace

Result<std::unique_ptr<Backend>> make_sm80(const GemmProblem& problem, const GemmOptions& options) {
  if (options.backend == GemmBackend::kCublas) return refuse("options.backend asks for cuBLAS");
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  // A caller that asks for Weft's kernels on compute capability 9.0 is told that sm90's are missing.
  if (options.backend == GemmBackend::kKernels && gpu.capability == 90 &&
      !sm80::is_name(options.tile))
    return refuse("its kernels stand in for sm90's where options.tile names one of them");
  int tile = -1;
  ASSIGN_OR_RETURN(tile, sm80::tile_named(options.tile));
  auto made = std::make_unique<Sm80>(gpu, problem, tile);
  RETURN_IF_ERROR(made->start(options.num_sms));
  return std::unique_ptr<Backend>(std::move(made));
}

}  // namespace weft::kernels::gemm
