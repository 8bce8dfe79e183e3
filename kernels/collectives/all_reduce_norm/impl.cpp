#include "kernels/collectives/all_reduce_norm/impl.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/collectives/all_reduce_norm/row_cut.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

}  // namespace

Result<Plan> NormImpl::plan(std::size_t count) const {
  ASSIGN_OR_RETURN(const Plan made, plan_bytes(count));
  return plan_rows(made, std::max<std::size_t>(count / shape_.hidden, 1)).plan;
}

NormImpl::RowPlan NormImpl::plan_rows(Plan made, std::size_t rows) const {
  const AlgorithmTraits& by = *find_algorithm(what_, made.algorithm);
  if (by.protocol == Protocol::kLamport) {
    const bool two_shot = by.parts == Parts::kMembers;
    const auto cut = cut_rows({rows, row_bytes(), team_size_, two_shot, made.blocks, made.threads,
                               clusters_, gpu_, limits_.lamport_bytes});
    if (cut) {
      made.blocks = cut->blocks;
      made.threads = cut->threads;
      return {made, cut->split};
    }
    made.algorithm = by.fallback;
  }
  if (by.protocol == Protocol::kSimple) {  // a row is one block's
    made.blocks = static_cast<unsigned>(std::min<std::size_t>(rows, made.blocks));
    return {made, 1};
  }
  made.blocks = blocks_of_rows();  // all count rows (row_sums.hpp)
  made.threads = std::min(made.threads, kMostThreadsOfRows);
  const unsigned blocks = split(rows);
  if (options_.threads == 0)
    made.threads = static_cast<unsigned>(
        std::min<std::size_t>(units_of_part(row_bytes(), blocks), made.threads));
  return {made, blocks};
}

// Blocks that share a row in calls by LL: as many as there are for each, and have a chunk.
unsigned NormImpl::split(std::size_t rows) const {
  const std::size_t chunks = chunks_of_row(row_bytes());
  const std::size_t blocks = std::clamp<std::size_t>(blocks_of_rows() / rows, 1, chunks);
  return chunks > kMostChunks ? 1
                              : static_cast<unsigned>(ceil_div(chunks, ceil_div(chunks, blocks)));
}

Status NormImpl::check_buffers(const NormBuffers& buffers, std::size_t count) const {
  RETURN_IF_ERROR(check_count(count));
  RETURN_IF_ERROR(check_address("out", buffers.out));
  RETURN_IF_ERROR(check_address("in", buffers.in));
  RETURN_IF_ERROR(check_address("residual_out", buffers.residual_out));
  RETURN_IF_ERROR(check_address("residual", buffers.residual));
  RETURN_IF_ERROR(check_address("weight", buffers.weight));
  if (buffers.out == buffers.residual_out)
    return refuse(name() + ": out is residual_out; each takes its own buffer");
  return Status::ok();
}

Status NormImpl::run(Stream stream, const NormBuffers& buffers, std::size_t rows) const {
  if (rows == 0 && call().team.is_member()) return Status::ok();
  if (rows > problem_.max_count / shape_.hidden)
    return refuse(fmt::format("{}: rows is {}, but the operator was made for max_rows {}", name(),
                              rows, problem_.max_count / shape_.hidden));
  const std::size_t count = rows * shape_.hidden;
  RETURN_IF_ERROR(check_buffers(buffers, count));
  NormCall made{{call(), problem_.op}, {}};
  ASSIGN_OR_RETURN(const Plan by_bytes, plan_bytes(count));
  const RowPlan by_rows = plan_rows(by_bytes, rows);
  made.plan = by_rows.plan;
  made.messages = messages(buffers.residual_out, buffers.in, count, false, false);
  made.messages.addend = static_cast<const std::byte*>(buffers.residual);
  made.norm = {static_cast<std::byte*>(buffers.out),
               static_cast<const std::byte*>(buffers.weight),
               shape_.hidden,
               row_bytes(),
               by_rows.split,
               shape_.epsilon};
  return WEFT_OF_TARGET(gpu_, run_norm)(made, stream);
}

}  // namespace weft::kernels
