#include "kernels/collectives/all_reduce/impl.hpp"

#include "kernels/core/status.hpp"

namespace weft::kernels {

// The others read what each has, and an AllReduce's store to everybody.
Status ReduceImpl::check_symmetric_buffers(const Messages& m) const {
  if (!scatters()) RETURN_IF_ERROR(check_symmetric("out", m.out, m.bytes));
  return check_symmetric("in", m.in, scatters() ? all(m.bytes) : m.bytes);
}

Status ReduceImpl::run(Stream stream, void* out, const void* in, std::size_t count) const {
  if (count == 0 && call().team.is_member()) return Status::ok();
  RETURN_IF_ERROR(check_count(count));
  RETURN_IF_ERROR(check_address("out", out));
  RETURN_IF_ERROR(check_address("in", in));
  ReduceCall made{call(), problem_.op};
  ASSIGN_OR_RETURN(made.plan, plan(count));
  made.messages = messages(out, in, count, scatters(), false);
  if (is_by(made.plan, Protocol::kZeroCopy))
    RETURN_IF_ERROR(check_symmetric_buffers(made.messages));
  const auto start =
      scatters() ? WEFT_OF_TARGET(gpu_, run_reduce_scatter) : WEFT_OF_TARGET(gpu_, run_all_reduce);
  return start(made, stream);
}

}  // namespace weft::kernels
