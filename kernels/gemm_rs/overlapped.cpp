#include "kernels/gemm_rs/overlapped.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agree.hpp"
#include "kernels/core/gpu_share.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr int kHostFrom = 16;   // rows of each
constexpr int kLeastRows = 64;  // of each, on a GPU: a tile has no fewer

}  // namespace

Result<int> agree_on(Runtime& runtime, const char* who, const Team& team, const GemmProblem& p,
                     std::uint64_t algorithm, const GemmOptions& options) {
  std::vector<std::uint64_t> agreed;
  ASSIGN_OR_RETURN(
      agreed,
      agree(runtime, who,
            {{"m", static_cast<std::uint64_t>(p.m)},
             {"n", static_cast<std::uint64_t>(p.n)},
             {"k", static_cast<std::uint64_t>(p.k)},
             {"dtype", static_cast<std::uint64_t>(p.dtype)},
             {"options.algorithm", algorithm},
             {"options.gemm.backend", static_cast<std::uint64_t>(options.backend)},
             {"options.gemm.multiprocessors", static_cast<std::uint64_t>(options.multiprocessors)},
             {"options.gemm.tile (a hash of it)", std::hash<std::string>()(options.tile)},
             {"the team's size", static_cast<std::uint64_t>(team.is_member() ? team.size : 0),
              true}}));
  return std::max(1, static_cast<int>(agreed.back()));
}

Result<bool> agree_on_machine(Runtime& runtime, bool can, bool is_shared, gemm::Machine* machine) {
  std::vector<std::uint64_t> mine = {can ? 1u : 0u,
                                     static_cast<std::uint64_t>(machine->multiprocessors)};
  mine.insert(mine.end(), machine->clusters.begin(), machine->clusters.end());
  std::vector<std::vector<std::uint64_t>> all;
  ASSIGN_OR_RETURN(const GpuShare share, gpu_share(runtime, mine, &all));
  for (const std::vector<std::uint64_t>& words : all) {
    can = can && words[0] == 1;
    machine->multiprocessors = std::min(machine->multiprocessors, static_cast<int>(words[1]));
    for (std::size_t i = 0; i < machine->clusters.size(); ++i)
      machine->clusters[i] = std::min(machine->clusters[i], static_cast<int>(words[2 + i]));
  }
  if (is_shared) {
    machine->multiprocessors /= share.sharers;
    for (int& clusters : machine->clusters) clusters /= share.sharers;
  }
  return can;
}

Result<Overlapped> Overlapped::create(Runtime& runtime, const char* who, const Team& team,
                                      int team_size, const GemmProblem& problem,
                                      const GemmOptions& options, bool gpu, Which which,
                                      Pays pays) {
  Overlapped made;
  made.size_ = team_size;
  RETURN_IF_ERROR(made.choose(runtime, who, team, problem, options, gpu, which, pays));
  RETURN_IF_ERROR(made.share(runtime, team));
  return made;
}

// From how many rows on calls overlap, if any do, and how.
Status Overlapped::choose(Runtime& runtime, const char* who, const Team& team, const GemmProblem& p,
                          const GemmOptions& options, bool gpu, Which which, Pays pays) {
  ASSIGN_OR_RETURN(record_, SymmetricMemory::create(runtime, sizeof(Record)));
  gemm::Machine machine;
  int tile = -1;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu) {
    ASSIGN_OR_RETURN(machine, gpu_machine(options));
    if (options.backend != GemmBackend::kCublas) {
      ASSIGN_OR_RETURN(tile, gemm::tile_named(who, options.tile, gemm::kOfTwoBytes));
    }
  }
#endif
  const std::int64_t most = p.m / size_;  // rows of each
  const bool is_empty = p.m == 0 || p.n == 0 || p.k == 0 || size_ == 1;
  bool can = !is_empty && size_ <= kMostMembers && most > 0;
  if (gpu)
    can = can && machine.multiprocessors > 0 && p.n % 8 == 0 &&
          (tile < 0 || scatters(gemm::tile_at(tile)));
  for (int rank = 0; team.is_member() && rank < team.size; ++rank)
    can = can && runtime.context().ptr(record_.as<Record>(), team.pe_of(rank)) != nullptr;
  const bool is_shared = gpu && options.multiprocessors == 0;
  ASSIGN_OR_RETURN(can, agree_on_machine(runtime, can, is_shared, &machine));
  if (is_shared) can = can && machine.clusters[2] > 0;
  machine.clusters[1] = machine.multiprocessors;

  if (which == Which::kAll && !can && !is_empty)
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.algorithm is kOverlapped, which needs a row for each member, up "
                    "to {} members that map each other, and on GPUs those of compute capability "
                    "9.0, kernels of Weft's own, n a multiple of 8 and a tile of at most 128 rows "
                    "that does not split k; leave it kAuto",
                    who, kMostMembers));
  if (!can || which == Which::kNone) return Status::ok();
  const auto do_pay = [&](std::int64_t rows) {
    if (!gpu) return rows >= kHostFrom;
    return rows >= kLeastRows &&
           pays({size_, static_cast<int>(rows), static_cast<int>(p.n), static_cast<int>(p.k)},
                machine, tile);
  };
  from_ = p.m + 1;
  if (which == Which::kAll) from_ = size_;
  for (std::int64_t rows = most; from_ > size_ && rows > 0 && do_pay(rows); rows /= 2)
    from_ = rows * size_;
  if (from_ > p.m) return Status::ok();

  GemmProblem each = p;
  each.m = most;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu) {
    ASSIGN_OR_RETURN(overlap_, make_gpu_overlap(each, size_, machine, tile));
    return Status::ok();
  }
#endif
  ASSIGN_OR_RETURN(overlap_, make_host_overlap(each, size_));
  return Status::ok();
}

Status Overlapped::share(Runtime& runtime, const Team& team) {
  if (!overlap_) return Status::ok();
  const Needs needs = overlap_->needs();
  Space space;
  space.senders = size_ - 1;
  space.slot_bytes = needs.tiles * needs.tile_bytes;
  space.slot_flags = needs.tiles * needs.tile_flags;
  const auto senders = static_cast<std::uint64_t>(space.senders);
  const std::size_t staging = 2 * senders * space.slot_bytes;
  ASSIGN_OR_RETURN(staging_, SymmetricMemory::create(runtime, staging + senders * space.slot_flags *
                                                                            sizeof(std::uint64_t)));
  space.record = record_.as<Record>();
  space.staging = staging_.as<std::byte>();
  space.flags = reinterpret_cast<std::uint64_t*>(space.staging + staging);
  return team.is_member() ? overlap_->use(runtime, team, space) : Status::ok();
}

std::string Overlapped::describe() const {
  if (!overlap_) return "";
  return fmt::format("from {} rows on that all have a share of, tiles are sent as they come: {}",
                     from_, overlap_->describe());
}

}  // namespace weft::kernels::gemm_rs
