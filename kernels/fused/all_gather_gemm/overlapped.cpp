#include "kernels/fused/all_gather_gemm/overlapped.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "kernels/core/math.hpp"
#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"

namespace weft::kernels::ag_gemm {

namespace {

constexpr auto kBackends = std::to_array<gemm::BackendRow<MakeOverlapped>>({
#define WEFT_GEMM_GATHER(name, architectures, dtypes) \
  {#name, architectures, dtypes, &make_overlapped_##name},
#include "kernels/gemm/backends.def.hpp"
});

constexpr unsigned kCopyBlocks = 264;  // two to an SM

// Where rows of `size` members come, still without memory.
AllGatherBuffer buffer_of(const GemmProblem& p, int size, int rank) {
  AllGatherBuffer buffer;
  buffer.parts = gather_parts(static_cast<int>(p.k));
  buffer.part_blocks = gather_part_blocks(static_cast<int>(p.k));
  buffer.stride = static_cast<std::size_t>(buffer.part_blocks * kGatherColumns) * bytes_of(p.dtype);
  buffer.pieces = static_cast<int>(ceil_div(static_cast<std::size_t>(p.m), kGatherRows));
  buffer.count = size;
  buffer.own = std::max(0, rank);
  buffer.most_rows = static_cast<int>(p.m);
  return buffer;
}

}  // namespace

Overlapped::Overlapped(const fused::Setting& setting, const DeviceContext& handle, const Plan& plan,
                       std::unique_ptr<OverlappedTarget> target)
    : team_(setting.team),
      p_(setting.problem),
      gpu_(setting.gpu),
      handle_(handle),
      plan_(plan),
      target_(std::move(target)),
      gather_buffer_(buffer_of(p_, setting.agreement.team_size, setting.team.rank)) {
  const AllGatherBuffer& b = gather_buffer_;
  const std::size_t parts = static_cast<std::size_t>(b.count) * static_cast<std::size_t>(b.parts);
  const std::size_t flags = parts * static_cast<std::size_t>(b.pieces);
  // Before the flags, failed_round().
  parts_.add((2 * kMostGatherBlocks + 1 + flags) * sizeof(std::uint64_t));
  parts_.add(2 * parts * static_cast<std::size_t>(p_.m) * b.stride);
}

Result<std::unique_ptr<Overlapped>> Overlapped::create(Runtime& runtime,
                                                       const fused::Setting& setting,
                                                       const Plan& plan) {
  std::unique_ptr<Overlapped> made;
  if (plan.overlap_from > setting.problem.m) return made;
  ASSIGN_OR_RETURN(const DeviceContext handle, runtime.context().device());
  const int size = setting.agreement.team_size;
  ASSIGN_OR_RETURN(
      std::unique_ptr<OverlappedTarget> target,
      gemm::make_by_first(setting.who, kBackends, setting.device, setting.problem.dtype,
                          setting.problem, size, plan.push_blocks, setting.options));
  made.reset(new Overlapped(setting, handle, plan, std::move(target)));
  return made;
}

Status Overlapped::bind(Runtime&, std::byte* workspace) {
  AllGatherBuffer& b = gather_buffer_;
  b.push_rounds = reinterpret_cast<std::uint64_t*>(workspace);
  b.gemm_rounds = b.push_rounds + kMostGatherBlocks;
  b.flags = b.gemm_rounds + kMostGatherBlocks + 1;
  b.segments = workspace + parts_.offset(1);
  return Status::ok();
}

Status Overlapped::copy_out(Stream stream, const PushCall& push, std::byte* gathered) const {
  const CopyCall call{push.gather_buffer, push.rows, gathered, push.row_bytes, push.row_stride};
  const auto rows = static_cast<std::size_t>(push.gather_buffer.rows) *
                    static_cast<std::size_t>(push.gather_buffer.count);
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows, gpu_ ? kCopyBlocks : 1));
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) return cuda::run_copy(call, blocks, stream);
#endif
  return cpu::run_copy(call, blocks, stream);
}

Status Overlapped::run(Stream stream, const fused::GemmCall& call) {
  const std::size_t element = bytes_of(p_.dtype);
  PushCall push{handle_,
                team_,
                gather_buffer_,
                static_cast<const std::byte*>(call.a),
                static_cast<std::size_t>(p_.k) * element,
                static_cast<std::size_t>(p_.lda) * element,
                plan_.is_ring,
                gemm::ceil_div(plan_.group_rows, kGatherRows)};
  push.gather_buffer.rows = static_cast<int>(call.m);
  RETURN_IF_ERROR(target_->run(push, stream, call.c, call.a, call.b));
  if (call.gathered == nullptr) return Status::ok();
  return copy_out(stream, push, static_cast<std::byte*>(call.gathered));
}

std::string Overlapped::describe() const {
  return fmt::format("from {} rows on {} blocks push beside {}", plan_.overlap_from,
                     plan_.push_blocks, target_->describe());
}

}  // namespace weft::kernels::ag_gemm
