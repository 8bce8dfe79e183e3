#include "kernels/collectives/all_to_all_v/impl.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels {

Status AllToAllVImpl::lay_out() {
  RETURN_IF_ERROR(CollectiveImpl::lay_out());
  ASSIGN_OR_RETURN(const Plan all_calls, plan(problem_.max_count));
  lay_out_with(is_by(all_calls, Protocol::kLL));
  return Status::ok();
}

Status AllToAllVImpl::check_sizes(const AllToAllVSizes& sizes) const {
  const std::array<std::pair<const char*, const std::uint64_t*>, 4> all = {
      {{"send_counts", sizes.send_counts},
       {"send_offsets", sizes.send_offsets},
       {"recv_offsets", sizes.recv_offsets},
       {"recv_counts", sizes.recv_counts}}};
  for (const auto& [member, address] : all)
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 8 != 0)
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("{}: sizes.{} is {}, but should be the address of {} 8-byte words", name(),
                      member, static_cast<const void*>(address), call().team.size));
  return Status::ok();
}

Status AllToAllVImpl::run(Stream stream, void* out, const void* in,
                          const AllToAllVSizes& sizes) const {
  RETURN_IF_ERROR(check_count(problem_.max_count));
  // Only kernels know the sizes: a buffer of nothing is null.
  if (out != nullptr) RETURN_IF_ERROR(check_address("out", out));
  if (in != nullptr) RETURN_IF_ERROR(check_address("in", in));
  RETURN_IF_ERROR(check_sizes(sizes));
  AllToAllVCall made{call(), sizes};
  ASSIGN_OR_RETURN(made.plan, plan(problem_.max_count));
  made.messages = messages(out, in, 0, false, false);
  if (is_by(made.plan, Protocol::kZeroCopy))
    RETURN_IF_ERROR(check_symmetric("out", made.messages.out, 1));
  return WEFT_OF_TARGET(gpu_, run_all_to_all_v)(made, stream);
}

}  // namespace weft::kernels
