// Checks of what an operator was given: problems, and the arguments of calls.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/collectives/collective_impl.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

}  // namespace

Status CollectiveImpl::check_problem(int npes) const {
  const std::size_t element = bytes_of(problem_.dtype);
  if (element == 0)
    return refuse(fmt::format("{}: dtype is {}, which is none of weft::kernels::DType", name(),
                              static_cast<int>(problem_.dtype)));
  if (problem_.max_count > (std::size_t{1} << 48) / element / static_cast<std::size_t>(npes))
    return refuse(fmt::format("{}: max_count is {}, which is more than memory has", name(),
                              problem_.max_count));
  if (reduces(what_) && problem_.op != ReduceOp::kSum && problem_.op != ReduceOp::kMin &&
      problem_.op != ReduceOp::kMax)
    return Status::error(Code::kUnsupported,
                         fmt::format("{}: op must be kSum, kMin or kMax", name()));
  if (is_lamport(options_.algorithm) && reduces(what_) && !sums_floats())
    return Status::error(
        Code::kUnsupported,
        fmt::format(
            "{}: options.algorithm is {}, which of sums is for kSum of floats; dtype is {}, op {}",
            name(), to_string(options_.algorithm), to_string(problem_.dtype),
            static_cast<int>(problem_.op)));
  if (options_.symmetric && !has_algorithm(what_, Algorithm::kZeroCopy))
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.symmetric is set, but its data always go through its workspace",
                    name()));
  if (options_.algorithm == Algorithm::kZeroCopy && !options_.symmetric)
    return refuse(
        fmt::format("{}: options.algorithm is zero-copy, but options.symmetric does not "
                    "say that buffers are",
                    name()));
  if ((reduces(what_) || what_ == Collective::kAllReduceNorm) &&
      problem_.dtype == DType::kFloat8E4m3)
    return Status::error(Code::kUnsupported,
                         fmt::format("{}: dtype is float8_e4m3, which is not summed up; widen it "
                                     "to bfloat16 before",
                                     name()));
  if (what_ == Collective::kAllReduceNorm && !is_of_floats())
    return Status::error(Code::kUnsupported,
                         fmt::format("{}: dtype is {}, but must be float32, float16 or bfloat16",
                                     name(), to_string(problem_.dtype)));
  if (options_.threads > kMostThreadsOfBlock || options_.blocks > kMostBlocks)
    return refuse(fmt::format("{}: options ask for {} blocks of {} threads; at most {} of {} work",
                              name(), options_.blocks, options_.threads, kMostBlocks,
                              kMostThreadsOfBlock));
  return Status::ok();
}

Status CollectiveImpl::check_call(const void* out, const void* in, std::size_t count,
                                  int root) const {
  const Team& team = call_.team;
  if (!team.is_member()) return refuse(name() + ": this PE is no member of the operator's team");
  if (count > problem_.max_count)
    return refuse(fmt::format("{}: count is {}, but the operator was made for max_count {}", name(),
                              count, problem_.max_count));
  if (root < 0 || root >= team.size)
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{}: root is {}, but the team has ranks 0 to {}", name(), root, team.size - 1));
  // Only kernels know the sizes of an AllToAllV: a buffer of nothing is null.
  if (what_ == Collective::kAllToAllV) {
    if (out != nullptr) RETURN_IF_ERROR(check_address("out", out));
    return in == nullptr ? Status::ok() : check_address("in", in);
  }
  RETURN_IF_ERROR(check_address("out", out));
  const bool needs_in = what_ != Collective::kBroadcast || team.rank == root;
  return needs_in ? check_address("in", in) : Status::ok();
}

// Checks a call for which options.symmetric promises that others can touch its buffers.
Status CollectiveImpl::check_symmetric(const Messages& m) const {
  const auto parts = static_cast<std::size_t>(call_.team.size);
  if (what_ == Collective::kAllToAllV) return check_symmetric("out", m.out, 1);
  if (what_ != Collective::kReduceScatter)
    RETURN_IF_ERROR(check_symmetric("out", m.out, m.out_stride != 0 ? m.bytes * parts : m.bytes));
  if (reduces(what_))
    RETURN_IF_ERROR(check_symmetric("in", m.in, m.in_stride != 0 ? m.bytes * parts : m.bytes));
  if (what_ != Collective::kAllToAll || m.in != m.out) return Status::ok();
  return refuse(name() +
                ": in is out, which others fill; it takes two buffers with "
                "options.symmetric");
}
Status CollectiveImpl::check_symmetric(const char* argument, const std::byte* address,
                                       std::size_t bytes) const {
  const Context& context = runtime_->context();
  const bool all = runtime_->offset_of(address, bytes).has_value();
  for (int rank = 0; rank < call_.team.size; ++rank) {
    const int pe = call_.team.pe_of(rank);
    if (!all || context.ptr(address, pe) == nullptr)
      return Status::error(
          Code::kNotSymmetric,
          fmt::format("{}: {}, {} bytes from {} on, is not symmetric memory that PE {} maps; "
                      "allocate it with Runtime::allocate_device, or leave options.symmetric off",
                      name(), argument, bytes, static_cast<const void*>(address), pe));
  }
  return Status::ok();
}

Status CollectiveImpl::check_address(const char* argument, const void* address) const {
  const std::size_t element = bytes_of(problem_.dtype);
  if (address == nullptr) return refuse(fmt::format("{}: {} is null", name(), argument));
  if (reinterpret_cast<std::uintptr_t>(address) % element != 0)
    return refuse(fmt::format("{}: {} is {}, which is no multiple of {}, the size of {}", name(),
                              argument, address, element, to_string(problem_.dtype)));
  return Status::ok();
}

Status CollectiveImpl::check_sizes(const AllToAllVSizes& sizes) const {
  const std::array<std::pair<const char*, const std::uint64_t*>, 4> all = {
      {{"send_counts", sizes.send_counts},
       {"send_offsets", sizes.send_offsets},
       {"recv_offsets", sizes.recv_offsets},
       {"recv_counts", sizes.recv_counts}}};
  for (const auto& [member, address] : all)
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 8 != 0)
      return refuse(fmt::format("{}: sizes.{} is {}, but should be the address of {} 8-byte words",
                                name(), member, static_cast<const void*>(address),
                                call_.team.size));
  return Status::ok();
}

}  // namespace weft::kernels
