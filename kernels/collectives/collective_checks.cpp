// Checks of what an operator was given: problems, and the arguments of calls.

#include <fmt/format.h>

#include "kernels/collectives/collective_impl.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

}  // namespace

Status CollectiveImpl::check_options(int npes) const {
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
  if (kernels::is_by(what_, options_.algorithm, Protocol::kLamport) && reduces(what_) &&
      !sums_floats())
    return Status::error(
        Code::kUnsupported,
        fmt::format(
            "{}: options.algorithm is {}, which of sums is for kSum of floats; dtype is {}, op {}",
            name(), to_string(options_.algorithm), to_string(problem_.dtype),
            static_cast<int>(problem_.op)));
  if (options_.symmetric && find_algorithm(what_, Algorithm::kZeroCopy) == nullptr)
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.symmetric is set, but its data always go through its workspace",
                    name()));
  if (kernels::is_by(what_, options_.algorithm, Protocol::kZeroCopy) && !options_.symmetric)
    return refuse(
        fmt::format("{}: options.algorithm is {}, but options.symmetric does not say that buffers "
                    "are",
                    name(), to_string(options_.algorithm)));
  if (sends_sums(what_) && problem_.dtype == DType::kFloat8E4m3)
    return Status::error(Code::kUnsupported,
                         fmt::format("{}: dtype is float8_e4m3, which is not summed up; widen it "
                                     "to bfloat16 before",
                                     name()));
  if (options_.threads > kMostThreadsOfBlock || options_.blocks > kMostBlocks)
    return refuse(fmt::format("{}: options ask for {} blocks of {} threads; at most {} of {} work",
                              name(), options_.blocks, options_.threads, kMostBlocks,
                              kMostThreadsOfBlock));
  return Status::ok();
}

Status CollectiveImpl::check_count(std::size_t count) const {
  if (!call_.team.is_member())
    return refuse(name() + ": this PE is no member of the operator's team");
  if (count > problem_.max_count)
    return refuse(fmt::format("{}: count is {}, but the operator was made for max_count {}", name(),
                              count, problem_.max_count));
  return Status::ok();
}

// Others can touch the buffer, as options.symmetric promises.
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

Status CollectiveImpl::check_is_of_floats() const {
  if (is_of_floats()) return Status::ok();
  return Status::error(Code::kUnsupported,
                       fmt::format("{}: dtype is {}, but must be float32, float16 or bfloat16",
                                   name(), to_string(problem_.dtype)));
}

}  // namespace weft::kernels
