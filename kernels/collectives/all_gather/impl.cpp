#include "kernels/collectives/all_gather/impl.hpp"

#include "kernels/core/status.hpp"

namespace weft::kernels {

Status MoveImpl::check_symmetric_buffers(const Messages& m) const {
  RETURN_IF_ERROR(check_symmetric("out", m.out, all(m.bytes)));
  if (what_ != Collective::kAllToAll || m.in != m.out) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       name() +
                           ": in is out, which others fill; it takes two buffers with "
                           "options.symmetric");
}

Status MoveImpl::run(Stream stream, void* out, const void* in, std::size_t count) const {
  if (count == 0 && call().team.is_member()) return Status::ok();
  RETURN_IF_ERROR(check_count(count));
  RETURN_IF_ERROR(check_address("out", out));
  RETURN_IF_ERROR(check_address("in", in));
  CollectiveCall made = call();
  ASSIGN_OR_RETURN(made.plan, plan(count));
  made.messages = messages(out, in, count, what_ == Collective::kAllToAll, true);
  if (is_by(made.plan, Protocol::kZeroCopy))
    RETURN_IF_ERROR(check_symmetric_buffers(made.messages));
  return WEFT_OF_TARGET(gpu_, run_all_gather)(made, stream);
}

}  // namespace weft::kernels
