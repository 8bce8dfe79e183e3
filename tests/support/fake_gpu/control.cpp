#include "tests/support/fake_gpu/control.hpp"

#include "tests/support/fake_gpu/state.hpp"

namespace weft::fake_gpu {

extern "C" __attribute__((visibility("default"))) void fake_gpu_reload() {
  const std::lock_guard lock(state().mutex);
  state().settings = read_settings();
  state().calls.clear();
  state().failed = Error::kSuccess;
}

extern "C" __attribute__((visibility("default"))) void fake_gpu_count(test::FakeGpuLive* out) {
  const State& all = state();
  const std::lock_guard lock(state().mutex);
  *out = {all.reservations.size(),
          all.handles.size(),
          all.mappings.size(),
          all.host_blocks.size(),
          all.streams.size(),
          all.allocations.size(),
          0,
          depth()};
  for (const auto& [device, bytes] : all.used) out->bytes += bytes;
}

}  // namespace weft::fake_gpu
