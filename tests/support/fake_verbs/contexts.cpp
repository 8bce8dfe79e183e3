// Opened devices, and protection domains.
#include "tests/support/fake_verbs/operations.hpp"
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {

Context::Context(Device& opened) : ibv_context{} {
  device = &opened;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  cmd_fd = -1;
  async_fd = events.fd();
  num_comp_vectors = kVectors;
}

FAKE_VERB ibv_context* ibv_open_device(ibv_device* device) {
  if (const int error = failing(__func__)) return refuse(error);
  const std::lock_guard lock(state().mutex);
  auto* const context = new Context(own<Device>(device));
  state().contexts.push_back(context);
  ++state().live.devices;
  return context;
}

FAKE_VERB int ibv_close_device(ibv_context* context) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  auto* const closed = &own<Context>(context);
  if (closed->users > 0) return EBUSY;
  std::erase(state().contexts, closed);
  --state().live.devices;
  delete closed;
  return 0;
}

FAKE_VERB ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (const int error = failing(__func__)) return refuse(error);
  const std::lock_guard lock(state().mutex);
  auto* const pd = new Pd;
  pd->context = context;
  pd->handle = 0;
  ++own<Context>(context).users;
  ++state().live.pds;
  return pd;
}

FAKE_VERB int ibv_dealloc_pd(ibv_pd* pd) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  if (own<Pd>(pd).users > 0) return EBUSY;
  --own<Context>(pd->context).users;
  --state().live.pds;
  delete &own<Pd>(pd);
  return 0;
}

}  // namespace weft::fake_verbs
