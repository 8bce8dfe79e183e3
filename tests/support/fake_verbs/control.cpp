// What tests do to the fake library.
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

void set_cut(int device, bool is_cut) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  Device& cut = *all.devices.at(static_cast<std::size_t>(device));
  if (cut.is_cut == is_cut) return;
  cut.is_cut = is_cut;
  ibv_async_event event{};
  event.element.port_num = 1;
  event.event_type = is_cut ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE;
  for (Context* const context : all.contexts)
    if (context->device == &cut) context->events.push(event);
  wake_wire();  // whoever waits for a receive waits no longer
}

}  // namespace

FAKE_VERB void fake_verbs_live(FakeVerbsLive* out) {
  const std::lock_guard lock(state().mutex);
  *out = state().live;
}

FAKE_VERB void fake_verbs_fail(const char* function, int nth, int error) {
  State& all = state();
  const std::lock_guard lock(all.failures_mutex);
  if (nth == 0)
    all.failures.erase(function);
  else
    all.failures.emplace(function, State::Failure{nth, error});
  all.failures_left = all.failures.size();
}

FAKE_VERB std::size_t fake_verbs_atomics() {
  const std::lock_guard lock(state().mutex);
  return state().atomics;
}

FAKE_VERB void fake_verbs_cut(int device) { set_cut(device, true); }
FAKE_VERB void fake_verbs_mend(int device) { set_cut(device, false); }

}  // namespace weft::fake_verbs
