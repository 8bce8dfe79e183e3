#include "kernels/ag_gemm/impl.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agree.hpp"
#include "kernels/core/copy_rows.hpp"
#include "kernels/core/gpu_share.hpp"
#include "kernels/core/share.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/arguments.hpp"

namespace weft::kernels::ag_gemm {
namespace {

constexpr const char* kName = "AgGemm";
constexpr unsigned kHostPushBlocks = 2;
constexpr int kHostOverlapFrom = 16, kHostBand = 128;  // rows
constexpr unsigned kMostPushBlocks = 64;
// Made for less, AllGather has staging so small that what it is made for goes in two rounds.
constexpr std::size_t kLeastGatherElements = std::size_t{1} << 19;
constexpr unsigned kCopyBlocks = 264;  // two to a multiprocessor

Status refuse(const std::string& text) {
  return Status::error(Code::kInvalidArgument, std::string(kName) + ": " + text);
}

Status check_options(const AgGemmOptions& options) {
  if (options.push_blocks > kMostPushBlocks)
    return refuse(fmt::format("options.push_blocks is {}; it has to be 0, for the plan's, to {}",
                              options.push_blocks, kMostPushBlocks));
  return gemm::check_options(kName, options.gemm);
}

Status check_team(const Team& team, const GemmProblem& problem) {
  if (!team.is_member() || problem.m <= (std::numeric_limits<int>::max() - 4096) / team.size)
    return Status::ok();
  return refuse(fmt::format("m is {} rows of each of {} members; together they may be 2^31 - 4097",
                            problem.m, team.size));
}

}  // namespace

std::size_t Impl::gathered_stride() const {
  return rounded_up(static_cast<std::size_t>(p_.k), 8) * bytes_of(p_.dtype);
}

Status Impl::agree_with_all(Runtime& runtime) {
  const GemmOptions& g = options_.gemm;
  std::vector<std::uint64_t> agreed;
  ASSIGN_OR_RETURN(
      agreed,
      agree(runtime, kName,
            {{"m", static_cast<std::uint64_t>(p_.m)},
             {"n", static_cast<std::uint64_t>(p_.n)},
             {"k", static_cast<std::uint64_t>(p_.k)},
             {"dtype", static_cast<std::uint64_t>(p_.dtype)},
             {"options.algorithm", static_cast<std::uint64_t>(options_.algorithm)},
             {"options.push_blocks", options_.push_blocks},
             {"options.gemm.backend", static_cast<std::uint64_t>(g.backend)},
             {"options.gemm.multiprocessors", static_cast<std::uint64_t>(g.multiprocessors)},
             {"options.gemm.tile (a hash of it)", std::hash<std::string>()(g.tile)},
             {"the team's size", static_cast<std::uint64_t>(team_.is_member() ? team_.size : 0),
              true}}));
  team_size_ = std::max(1, static_cast<int>(agreed.back()));
  return Status::ok();
}

Status Impl::make_flags(Runtime& runtime) {
  const auto pieces = shares(static_cast<std::size_t>(p_.m), kGatherRows);
  gathering_.parts = gather_parts(static_cast<int>(p_.k));
  gathering_.part_blocks = gather_part_blocks(static_cast<int>(p_.k));
  gathering_.stride =
      static_cast<std::size_t>(gathering_.part_blocks * kGatherColumns) * bytes_of(p_.dtype);
  const std::size_t flags = static_cast<std::size_t>(team_size_ * gathering_.parts) * pieces;
  ASSIGN_OR_RETURN(flags_, SymmetricMemory::create(runtime, (flags + 2 * kMostGatherBlocks + 1) *
                                                                sizeof(std::uint64_t)));
  gathering_.push_rounds = flags_.as<std::uint64_t>();
  gathering_.product_rounds = gathering_.push_rounds + kMostGatherBlocks;
  gathering_.flags =
      gathering_.product_rounds + kMostGatherBlocks + 1;  // and before them, broken()
  gathering_.pieces = static_cast<int>(pieces);
  gathering_.count = team_size_;
  gathering_.own = std::max(0, team_.rank);
  return Status::ok();
}

// That a product and the push beside it have; 0: nothing of the kind.
Result<int> Impl::multiprocessors() const {
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) return gpu_multiprocessors(options_.gemm);
#endif
  return 0;
}

Status Impl::choose(Runtime& runtime) {
  int multiprocessors = 0, tile = -1;
  ASSIGN_OR_RETURN(multiprocessors, this->multiprocessors());
  bool can = team_size_ > 1 && p_.m > 0 && p_.n > 0 && p_.k > 0 && (!gpu_ || multiprocessors > 0);
  for (int rank = 0; team_.is_member() && rank < team_.size; ++rank)
    can = can && runtime.context().ptr(flags_.as<std::uint64_t>(), team_.pe_of(rank)) != nullptr;
  std::vector<std::vector<std::uint64_t>> all;
  ASSIGN_OR_RETURN(
      const GpuShare share,
      gpu_share(runtime, {can ? 1u : 0u, static_cast<std::uint64_t>(multiprocessors)}, &all));
  for (const std::vector<std::uint64_t>& words : all) {
    can = can && words[0] == 1;
    multiprocessors = std::min(multiprocessors, static_cast<int>(words[1]));
  }
  if (gpu_ && options_.gemm.multiprocessors == 0 && share.sharers > 1)
    options_.gemm.multiprocessors = multiprocessors /= share.sharers;
  const bool always = options_.algorithm == AgGemmAlgorithm::kOverlapped;
  plan_.overlap_from = static_cast<int>(p_.m) + 1;
  if (can && options_.algorithm != AgGemmAlgorithm::kSequential) {
    if (gpu_) {
      ASSIGN_OR_RETURN(tile, gemm::tile_named(kName, options_.gemm.tile));
      const Shape largest{team_size_, static_cast<int>(p_.m), static_cast<int>(p_.n),
                          static_cast<int>(p_.k)};
      plan_ = plan(largest, multiprocessors, tile, options_.push_blocks, always);
    } else {
      plan_.push_blocks = options_.push_blocks != 0 ? options_.push_blocks : kHostPushBlocks;
      plan_.overlap_from = always ? 1 : kHostOverlapFrom;
      plan_.goes_round = p_.m > kGatherRows;
      plan_.band = kHostBand;
    }
  }
  // Without rows or columns, or alone, there is nothing to do beside one another.
  const bool is_empty = p_.m == 0 || p_.n == 0 || p_.k == 0 || team_size_ == 1;
  if (always && plan_.push_blocks == 0 && !is_empty)
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.algorithm is kOverlapped, which needs members that map each "
                    "other, and on GPUs those of compute capability 9.0, kernels of Weft's own and "
                    "a tile that neither splits k nor is the largest; leave it kAuto",
                    kName));
  return Status::ok();
}

Status Impl::make_overlap([[maybe_unused]] Runtime& runtime) {
  if (plan_.overlap_from > p_.m) return Status::ok();
  const std::size_t bytes = static_cast<std::size_t>(team_size_ * gathering_.parts) *
                            static_cast<std::size_t>(p_.m) * gathering_.stride;
  ASSIGN_OR_RETURN(segments_, SymmetricMemory::create(runtime, 2 * bytes));
  gathering_.segments = segments_.as<std::byte>();
  gathering_.most_rows = static_cast<int>(p_.m);
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) {
    ASSIGN_OR_RETURN(overlap_, make_gpu_overlap(p_, team_size_, plan_.push_blocks, options_.gemm));
    return Status::ok();
  }
#endif
  ASSIGN_OR_RETURN(overlap_, make_host_overlap(p_, team_size_, plan_.push_blocks));
  return Status::ok();
}

Status Impl::make_sequence(Runtime& runtime) {
  sequence_most_ = std::min<std::int64_t>(p_.m, plan_.overlap_from - 1);
  if (sequence_most_ == 0 && p_.m > 0) return Status::ok();
  GemmProblem whole = p_;
  whole.m = team_size_ * sequence_most_;
  if (team_size_ > 1) {
    const auto elements = gathered_stride() / bytes_of(p_.dtype);
    ASSIGN_OR_RETURN(
        sequence_rows_,
        SymmetricMemory::create(runtime, static_cast<std::size_t>(whole.m) * gathered_stride()));
    CollectiveProblem gather;
    gather.max_count =
        std::max(static_cast<std::size_t>(sequence_most_) * elements, kLeastGatherElements);
    gather.dtype = p_.dtype;
    auto made = AllGather::create(runtime, team_, gather);
    if (!made) return std::move(made).status();
    all_gather_.emplace(std::move(*made));
    whole.lda = static_cast<std::int64_t>(elements);
  }
  // AllGather waits for all earlier work before it lets the product start early, so b is complete.
  GemmOptions product = options_.gemm;
  product.constant_b |= all_gather_.has_value();
  auto made = Gemm::create(runtime, whole, product);
  if (!made) return std::move(made).status();
  gemm_.emplace(std::move(*made));
  return Status::ok();
}

Result<std::unique_ptr<Impl>> Impl::create(Runtime& runtime, const Team& team,
                                           const GemmProblem& problem,
                                           const AgGemmOptions& options) {
  GemmProblem complete;
  ASSIGN_OR_RETURN(complete, gemm::checked(kName, problem));
  RETURN_IF_ERROR(check_options(options));
  RETURN_IF_ERROR(check_team(team, complete));
  std::unique_ptr<Impl> made(new Impl(team, complete, options));
  Target target{};
  ASSIGN_OR_RETURN(target, target_of(runtime));
  made->gpu_ = target == Target::kCuda;
  ASSIGN_OR_RETURN(made->handle_, runtime.context().device());
  RETURN_IF_ERROR(made->agree_with_all(runtime));
  RETURN_IF_ERROR(made->make_flags(runtime));
  RETURN_IF_ERROR(made->choose(runtime));
  RETURN_IF_ERROR(made->make_overlap(runtime));
  RETURN_IF_ERROR(made->make_sequence(runtime));
  RETURN_IF_ERROR(runtime.barrier());
  return made;
}

std::size_t Impl::workspace_bytes() const {
  return flags_.bytes() + segments_.bytes() + sequence_rows_.bytes() +
         (all_gather_ ? all_gather_->workspace_bytes() : 0);
}

std::string Impl::describe() const {
  std::string text = fmt::format("ag_gemm m={} n={} k={} {} of {} PEs: ", p_.m, p_.n, p_.k,
                                 to_string(p_.dtype), team_size_);
  if (overlap_)
    text += fmt::format("{} blocks push beside {}", plan_.push_blocks, overlap_->describe());
  if (overlap_ && gemm_) text += fmt::format("; up to {} rows ", sequence_most_);
  if (gemm_) text += (all_gather_ ? "AllGather, then " : "") + gemm_->describe();
  return text;
}

Status Impl::check_call(const void* c, const void* a, const void* b, std::int64_t m,
                        const void* gathered) const {
  if (!team_.is_member()) return refuse("this PE is no member of the operator's team");
  if (m < 0 || m > p_.m) return refuse(fmt::format("m is {}; it was planned for 0 to {}", m, p_.m));
  if (m == 0) return Status::ok();
  if (p_.n > 0) RETURN_IF_ERROR(gemm::check_pointer(kName, "c", c));
  if (p_.k > 0) RETURN_IF_ERROR(gemm::check_pointer(kName, "a", a));
  if (p_.k > 0 && p_.n > 0) RETURN_IF_ERROR(gemm::check_pointer(kName, "b", b));
  if (gathered == nullptr) return Status::ok();
  RETURN_IF_ERROR(gemm::check_pointer(kName, "gathered", gathered));
  if (p_.k % 8 != 0)
    return refuse(
        fmt::format("gathered is not null, and k is {}; it has to be a multiple of 8, so "
                    "that rows begin at multiples of 16 bytes",
                    p_.k));
  return Status::ok();
}

Status Impl::copy_out(Stream stream, const PushCall& push, std::byte* gathered) const {
  const CopyCall call{push.gathering, push.rows, gathered, push.row_bytes, push.row_stride};
  const auto rows = static_cast<std::size_t>(push.gathering.rows) *
                    static_cast<std::size_t>(push.gathering.count);
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows, gpu_ ? kCopyBlocks : 1));
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) return cuda::run_copy(call, blocks, stream);
#endif
  return cpu::run_copy(call, blocks, stream);
}

Status Impl::run_overlapped(Stream stream, void* c, const std::byte* a, const void* b, int m,
                            std::byte* gathered) const {
  PushCall push{handle_,     team_,    gathering_,       a,
                row_bytes(), stride(), plan_.goes_round, gemm::ceil_div(plan_.band, kGatherRows)};
  push.gathering.rows = m;
  RETURN_IF_ERROR(overlap_->run(push, stream, c, a, b));
  return gathered == nullptr ? Status::ok() : copy_out(stream, push, gathered);
}

Status Impl::run_sequence(Stream stream, void* c, const std::byte* a, const void* b, int m,
                          std::byte* gathered) const {
  const auto rows = static_cast<std::size_t>(m);
  const bool is_close = stride() == row_bytes() && gathered_stride() == row_bytes();
  const std::byte* all = a;
  if (team_.size > 1 && p_.k > 0) {
    std::byte* const to = gathered != nullptr ? gathered : sequence_rows_.as<std::byte>();
    const std::byte* mine = a;
    if (!is_close) {  // close together, and where they go
      std::byte* const packed =
          to + static_cast<std::size_t>(team_.rank) * rows * gathered_stride();
      RETURN_IF_ERROR(
          copy_rows(gpu_, stream, {packed, a, rows, row_bytes(), gathered_stride(), stride()}));
      mine = packed;
    }
    RETURN_IF_ERROR(
        (*all_gather_)(stream, to, mine, rows * gathered_stride() / bytes_of(p_.dtype)));
    all = to;
  } else if (gathered != nullptr && p_.k > 0) {
    RETURN_IF_ERROR(
        copy_rows(gpu_, stream, {gathered, a, rows, row_bytes(), row_bytes(), stride()}));
  }
  return (*gemm_)(stream, c, all, b, team_.size * m);
}

Status Impl::run(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                 void* gathered) const {
  RETURN_IF_ERROR(check_call(c, a, b, m, gathered));
  if (m == 0 || (p_.n == 0 && gathered == nullptr)) return Status::ok();
  const auto run = m >= plan_.overlap_from ? &Impl::run_overlapped : &Impl::run_sequence;
  return (this->*run)(stream, c, static_cast<const std::byte*>(a), b, static_cast<int>(m),
                      static_cast<std::byte*>(gathered));
}

}  // namespace weft::kernels::ag_gemm
