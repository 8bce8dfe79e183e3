#include "kernels/collectives/broadcast/impl.hpp"

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels {

Status BroadcastImpl::run(Stream stream, void* out, const void* in, std::size_t count,
                          int root) const {
  const Team& team = call().team;
  if (count == 0 && team.is_member()) return Status::ok();
  RETURN_IF_ERROR(check_count(count));
  if (root < 0 || root >= team.size)
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{}: root is {}, but the team has ranks 0 to {}", name(), root, team.size - 1));
  RETURN_IF_ERROR(check_address("out", out));
  if (team.rank == root) RETURN_IF_ERROR(check_address("in", in));
  BroadcastCall made{call(), root};
  ASSIGN_OR_RETURN(made.plan, plan(count));
  made.messages = messages(out, in, count, false, false);
  if (is_by(made.plan, Protocol::kZeroCopy))
    RETURN_IF_ERROR(check_symmetric("out", made.messages.out, made.messages.bytes));
  return WEFT_OF_TARGET(gpu_, run_broadcast)(made, stream);
}

}  // namespace weft::kernels
