#include "tests/support/fake_verbs/state.hpp"

#include <cstdlib>

namespace weft::fake_verbs {

State::State() {
  const char* const seed = std::getenv("WEFT_TEST_SEED");
  random.seed(seed != nullptr ? std::strtoull(seed, nullptr, 0) : std::random_device{}());
}

State& state() {
  static auto* const one = new State;  // outlives whoever calls at exit
  return *one;
}

int failing(const char* function) {
  State& all = state();
  if (all.failures_left.load(std::memory_order_relaxed) == 0) return 0;
  const std::lock_guard lock(all.failures_mutex);
  int error = 0;
  const auto [first, last] = all.failures.equal_range(function);
  for (auto each = first; each != last;) {
    if (--each->second.calls_left == 0) {
      error = each->second.error;
      each = all.failures.erase(each);
    } else {
      ++each;
    }
  }
  all.failures_left = all.failures.size();
  return error;
}

std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

std::uint32_t random_number(unsigned bits) {
  return static_cast<std::uint32_t>(state().random() >> (64 - bits));
}

}  // namespace weft::fake_verbs
