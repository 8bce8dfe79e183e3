// Every kernel of the tests, for every scope and kind of type: what the GPU compilers are given.
#include "tests/device/kernels.hpp"

namespace weft::test {
namespace {

constexpr dev::Grid kGrid{1, 1, 0};

struct Triple {
  std::uint8_t byte[3];
};
struct alignas(16) Wide {
  std::uint64_t word[2];
};

template <class Kernel>
Status queue(const Kernel& kernel) {
  return dev::launch(kGrid, kernel);
}

template <class Scope>
bool scopes() {
  bool ok = queue(MoveAll<Scope, std::uint8_t>{}).is_ok();
  ok = queue(MoveAll<Scope, double>{}).is_ok() && ok;
  ok = queue(MoveAll<Scope, Triple>{}).is_ok() && ok;
  ok = queue(AwaitAll<Scope>{}).is_ok() && ok;
  ok = queue(RoundTrip<Scope>{}).is_ok() && ok;
  ok = queue(WaitOn<Scope, std::int8_t>{}).is_ok() && ok;
  return queue(WaitOn<Scope, double>{}).is_ok() && ok;
}

template <class T>
bool atomics() {
  return queue(AmoScript<T>{}).is_ok() && queue(SingleValues<T>{}).is_ok();
}

}  // namespace

// Never called: it makes the templates.
bool make_every_kernel() {
  bool ok = scopes<dev::Thread>() && scopes<dev::Warp>() && scopes<dev::Block>();
  ok = atomics<int>() && ok;
  ok = atomics<std::uint64_t>() && atomics<double>() && ok;
  ok = queue(SingleValues<Triple>{}).is_ok() && queue(SingleValues<Wide>{}).is_ok() && ok;
  ok = queue(SingleValues<std::uint8_t>{}).is_ok() && queue(TestAll<int>{}).is_ok() && ok;
  ok = queue(Tickets<int>{}).is_ok() && queue(Store<std::uint32_t>{}).is_ok() && ok;
  return queue(Survey{}).is_ok() && ok;
}

}  // namespace weft::test
