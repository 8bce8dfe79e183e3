#include "kernels/gemm_rs/direct.hpp"

#include <cmath>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::gemm_rs {

Result<Direct> Direct::create(Runtime& runtime, const Team& team, int team_size,
                              const GemmProblem& problem, const GemmOptions& options, bool gpu,
                              Which which, bool scatters) {
  Direct made;
  made.size_ = team_size;
  RETURN_IF_ERROR(made.choose(runtime, team, problem, options, gpu, which, scatters));
  RETURN_IF_ERROR(made.share(runtime, team));
  return made;
}

// Up to how many rows calls go so, if any do.
Status Direct::choose(Runtime& runtime, const Team& team, const GemmProblem& p,
                      const GemmOptions& options, bool gpu, Which which, bool scatters) {
  const char* const who = name_of(scatters);
  ASSIGN_OR_RETURN(record_, SymmetricMemory::create(runtime, sizeof(Record)));
  gemm::Machine machine;
  int tile = -1;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu) {
    ASSIGN_OR_RETURN(machine, direct_machine(options));
    if (options.backend != GemmBackend::kCublas) {
      ASSIGN_OR_RETURN(tile, gemm::tile_named(who, options.tile, kDirectTiles));
    }
  }
#endif
  const bool is_empty = p.m == 0 || p.n == 0 || p.k == 0 || size_ == 1;
  bool can = !is_empty && size_ <= kMostMembers;
  if (gpu)
    can = can && machine.multiprocessors > 0 &&
          (tile < 0 || goes_directly(gemm::tile_at(tile), scatters));
  for (int rank = 0; team.is_member() && rank < team.size; ++rank)
    can = can && runtime.context().ptr(record_.as<Record>(), team.pe_of(rank)) != nullptr;
  const bool is_shared = gpu && options.multiprocessors == 0;
  ASSIGN_OR_RETURN(can, agree_on_machine(runtime, can, is_shared, &machine));
  takes_whole_tiles_ = gpu && size_ > 2 && which == Which::kThatPay;
  const auto plan_of = [&](std::int64_t rows) {
    const DirectShape shape{size_, static_cast<int>(rows), static_cast<int>(p.n),
                            static_cast<int>(p.k), scatters};
    const DirectPlan plan = direct_plan(shape, machine, tile);
    return std::isfinite(plan.us) &&
           (which == Which::kAll || plan.us < indirect_us(shape, machine));
  };
  const auto goes = [&](std::int64_t rows) {
    const bool are_few = gpu && !scatters ? rows * p.n <= most_elements(size_) : rows <= kTileRows;
    return can && (which == Which::kAll || are_few) && (!gpu || plan_of(rows)) &&
           (!takes_whole_tiles_ || are_whole_tiles(rows));
  };
  if (which == Which::kAll && !goes(p.m) && !is_empty)
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.algorithm is kDirect, which needs up to {} members that map "
                    "each other, and on GPUs those of compute capability 9.0, kernels of Weft's "
                    "own, and a tile that splits k or is for few rows, and so few of them that all "
                    "are multiplied at "
                    "once{}; leave it kAuto",
                    who, kMostMembers, scatters ? "" : ", or one of 128x80, 128x96 and 128x160"));
  if (!can || which == Which::kNone) return Status::ok();
  std::int64_t rows = p.m;
  while (rows > 0 && !goes(rows))
    rows = rows > kTileRows ? (rows - 1) / kTileRows * kTileRows : rows / 2;
  if (rows == 0) return Status::ok();
  most_ = rows;
  GemmProblem few = p;
  few.m = most_;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu) {
    ASSIGN_OR_RETURN(kernel_, make_gpu_direct(few, size_, machine, tile, scatters));
    return Status::ok();
  }
#endif
  kernel_ = make_host_direct(few, size_, scatters);
  return Status::ok();
}

Status Direct::share(Runtime& runtime, const Team& team) {
  if (!kernel_) return Status::ok();
  DirectSpace space;
  space.members = size_;
  space.slot_words = kernel_->words();
  const std::size_t bytes = space.all_words() * sizeof(std::uint64_t);
  ASSIGN_OR_RETURN(words_, SymmetricMemory::create(runtime, bytes));
  space.record = record_.as<Record>();
  space.words = words_.as<std::uint64_t>();
  RETURN_IF_ERROR(empty_words(runtime, space.words, space.all_words()));
  return team.is_member() ? kernel_->use(runtime, team, space) : Status::ok();
}

std::string Direct::describe() const {
  if (!kernel_) return "";
  return fmt::format("up to {} rows are multiplied and added up by one kernel: {}", most_,
                     kernel_->describe());
}

}  // namespace weft::kernels::gemm_rs
