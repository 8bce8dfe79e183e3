// Calls by which tests control the fake library.
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

Device& device_at(int index) { return *state().devices.at(static_cast<std::size_t>(index)); }

}  // namespace

void set_cut(Device& device, bool is_cut) {
  device.cut_after = 0;
  if (device.is_cut == is_cut) return;
  device.is_cut = is_cut;
  ibv_async_event event{};
  event.element.port_num = 1;
  event.event_type = is_cut ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE;
  for (Context* const context : state().contexts)
    if (context->device == &device) context->events.push(event);
  wake_wire();  // whoever waits for a receive waits no longer
}

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

FAKE_VERB std::size_t fake_verbs_carried(int device) {
  const std::lock_guard lock(state().mutex);
  return device_at(device).carried;
}

FAKE_VERB void fake_verbs_cut(int device) {
  const std::lock_guard lock(state().mutex);
  set_cut(device_at(device), true);
}

FAKE_VERB void fake_verbs_mend(int device) {
  const std::lock_guard lock(state().mutex);
  set_cut(device_at(device), false);
}

FAKE_VERB void fake_verbs_cut_after(int device, std::size_t nth, bool takes_effect) {
  const std::lock_guard lock(state().mutex);
  device_at(device).cut_after = nth;
  device_at(device).last_takes_effect = takes_effect;
}

FAKE_VERB void fake_verbs_doze(int device, std::size_t nth, std::size_t posts) {
  const std::lock_guard lock(state().mutex);
  device_at(device).doze_at = nth;
  device_at(device).doze_posts = posts;
}

}  // namespace weft::fake_verbs
