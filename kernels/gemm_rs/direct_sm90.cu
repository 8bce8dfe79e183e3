// On NVIDIA's GPUs of compute capability 9.0.
#include <algorithm>
#include <utility>

#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/kernel_sm90.hpp"
#include "kernels/gemm/tensor_map_sm90.hpp"
#include "kernels/gemm_rs/direct_kernel.hpp"
#include "kernels/gemm_rs/direct_kernels_sm90.hpp"

namespace weft::kernels::gemm_rs {
namespace {

using gemm::failed;

class Sm90Direct : public DirectKernel {
 public:
  Sm90Direct(const gemm::Gpu& gpu, const GemmProblem& problem, int members,
             const gemm::Machine& machine, int tile, bool scatters, gemm::Encode* encode)
      : gpu_(gpu),
        p_(problem),
        count_(members),
        machine_(machine),
        tile_(tile),
        scatters_(scatters),
        largest_(plan_for(static_cast<int>(problem.m))),
        maps_(problem.dtype, encode) {}

  Status start() {
    for (int i = kDirectTiles.first; i < kDirectTiles.end; ++i)
      if (goes_directly(gemm::tile_at(i), scatters_))
        RETURN_IF_FAILED("preparing a kernel", kernel(i).prepare());
    return Status::ok();
  }

  // Fewer rows may have tiles of another height: room for either.
  std::uint64_t words() const override {
    std::uint64_t most = 0;
    for (int i = kDirectTiles.first; i < kDirectTiles.end; ++i) {
      const gemm::Tile& tile = gemm::tile_at(i);
      if (!goes_directly(tile, scatters_)) continue;
      const auto tiles =
          static_cast<std::uint64_t>(gemm::ceil_div(static_cast<int>(p_.m), tile.m)) *
          static_cast<std::uint64_t>(gemm::ceil_div(static_cast<int>(p_.n), tile.n));
      most = std::max(most, tiles * kernel(i).tile_words);
    }
    return most;
  }

  Status use(Runtime& runtime, const Team& team, const DirectSpace& space) override {
    auto handle = runtime.context().device();
    if (!handle) return std::move(handle).status();
    members_ = {};
    members_.handle = *handle;
    members_.team = team;
    members_.space = space;
    for (int rank = 0; rank < team.size; ++rank)
      members_.words[rank] =
          static_cast<std::uint64_t*>(runtime.context().ptr(space.words, team.pe_of(rank)));
    return Status::ok();
  }

  Status run(Stream stream, void* c, const void* a, const void* b, int rows) override {
    RETURN_IF_ERROR(gemm::check_current(gpu_));
    const int n = static_cast<int>(p_.n), k = static_cast<int>(p_.k);
    sm90::DirectCall call{};
    call.plan = rows == p_.m ? largest_ : plan_for(rows);
    // The next call's blocks, which wait for this one, must not keep out those of another member on
    // the same GPU, for which this one waits.
    call.plan.product.starts_early &= machine_.multiprocessors == gpu_.multiprocessors;
    const sm90::DirectKernel& chosen = kernel(call.plan.product.tile);
    const gemm::Tile& tile = gemm::tile_at(call.plan.product.tile);
    call.rows_a = std::min(tile.m, gemm::ceil_div(rows, 8) * 8);
    RETURN_IF_ERROR(maps_.get({a, 1, rows, k, p_.lda, call.rows_a, sm90::kSliceK}, &call.a));
    RETURN_IF_ERROR(maps_.get({b, 1, n, k, p_.ldb, chosen.box_b, sm90::kSliceK}, &call.b));
    call.members = members_;
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
    return gemm::describe(largest_.product) + ", " + to_string(largest_.way);
  }

 private:
  DirectPlan plan_for(int rows) const {
    return direct_plan({count_, rows, static_cast<int>(p_.n), static_cast<int>(p_.k), scatters_},
                       machine_, tile_);
  }
  const sm90::DirectKernel& kernel(int tile) const { return sm90::direct_kernel(p_.dtype, tile); }

  const gemm::Gpu gpu_;
  const GemmProblem p_;  // m: most rows
  const int count_;      // of members
  const gemm::Machine machine_;
  const int tile_;
  const bool scatters_;
  const DirectPlan largest_;
  gemm::TensorMaps maps_;
  sm90::DirectMembers members_{};
};

}  // namespace

Result<gemm::Machine> direct_machine(const GemmOptions& options) {
  gemm::Gpu gpu;
  ASSIGN_OR_RETURN(gpu, gemm::current_gpu());
  gemm::Machine machine;
  machine.multiprocessors = 0;
  if (options.backend == GemmBackend::kCublas || !gemm::has_sm90(gpu)) return machine;
  machine.multiprocessors = gemm::multiprocessors_of(gpu, options);
  const sm90::DirectKernel& any =
      sm90::direct_kernel(DType::kBfloat16, gemm::tile_of(64, 64, true));
  RETURN_IF_FAILED("preparing a kernel", any.prepare());
  RETURN_IF_ERROR(gemm::ask_clusters(any.clusters, &machine));
  return machine;
}

Result<std::unique_ptr<DirectKernel>> make_gpu_direct(const GemmProblem& problem, int members,
                                                      const gemm::Machine& machine, int tile,
                                                      bool scatters) {
  gemm::Gpu gpu;
  ASSIGN_OR_RETURN(gpu, gemm::current_gpu());
  gemm::Encode* encode = nullptr;
  ASSIGN_OR_RETURN(encode, gemm::find_encode());
  auto made = std::make_unique<Sm90Direct>(gpu, problem, members, machine, tile, scatters, encode);
  RETURN_IF_ERROR(made->start());
  return std::unique_ptr<DirectKernel>(std::move(made));
}

}  // namespace weft::kernels::gemm_rs
