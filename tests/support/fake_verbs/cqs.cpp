// Completion queues and channels.
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {

FAKE_VERB ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (const int error = failing(__func__)) return refuse(error);
  const std::lock_guard lock(state().mutex);
  auto* const channel = new Channel;
  channel->context = context;
  channel->fd = channel->events.fd();
  channel->refcnt = 0;
  ++own<Context>(context).users;
  ++state().live.channels;
  return channel;
}

FAKE_VERB int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  if (own<Channel>(channel).users > 0) return EBUSY;
  --own<Context>(channel->context).users;
  --state().live.channels;
  delete &own<Channel>(channel);
  return 0;
}

FAKE_VERB ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                ibv_comp_channel* channel, int vector) {
  if (const int error = failing(__func__)) return refuse(error);
  const bool fits = entries > 0 && entries <= kMaxCqe && vector >= 0 && vector < kVectors;
  if (!fits || (channel != nullptr && channel->context != context)) return refuse(EINVAL);
  const std::lock_guard lock(state().mutex);
  auto* const cq = new Cq;
  static_cast<ibv_cq&>(*cq) = {};
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = entries;
  if (channel != nullptr) ++own<Channel>(channel).users;
  ++own<Context>(context).users;
  ++state().live.cqs;
  return cq;
}

FAKE_VERB int ibv_destroy_cq(ibv_cq* destroyed) {
  if (const int error = failing(__func__)) return error;
  auto* const cq = &own<Cq>(destroyed);
  auto* const channel = static_cast<Channel*>(cq->channel);
  {
    const std::lock_guard lock(state().mutex);
    if (cq->users > 0) return EBUSY;
  }
  const std::size_t unheard = channel != nullptr ? channel->events.remove(cq) : 0;
  {
    std::unique_lock lock(cq->guard);
    cq->events -= unheard;
    cq->acknowledges.wait(lock, [&] { return cq->acknowledged == cq->events; });
  }
  const std::lock_guard lock(state().mutex);
  if (channel != nullptr) --channel->users;
  --own<Context>(cq->context).users;
  --state().live.cqs;
  delete cq;
  return 0;
}

}  // namespace weft::fake_verbs
