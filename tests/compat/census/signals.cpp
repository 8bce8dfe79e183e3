// 9.8: put with a signal behind it, blocking and not, with and without a context.
#include <cstring>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

using PutSignal = std::function<void(void* dst, const void* src, std::size_t count,
                                     std::uint64_t* signal, std::uint64_t value, int op, int pe)>;

struct Step {
  std::size_t count;
  std::uint64_t value, wanted;  // what the signal is given, and what it then is
  int op;
  std::vector<std::byte> elements;
};

constexpr std::uint64_t kBefore = 5;

std::vector<Step> script(const Subject& s, int pe) {
  auto random = data(pe);
  std::vector<Step> steps;
  for (const std::size_t count : kCounts) {
    Step step;
    step.count = count;
    step.op = random() % 2 == 0 ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    step.value = 1 + random() % 1000000;
    step.wanted = step.op == SHMEM_SIGNAL_SET ? step.value : kBefore + step.value;
    step.elements.assign((count + 1) * s.element.size, kPoison);
    s.element.fill(step.elements.data(), count, random);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::size_t place(const Subject& s, std::size_t index) { return 64 + index * 64 * s.element.size; }
std::uint64_t* signal_word(std::size_t index) {
  return reinterpret_cast<std::uint64_t*>(source()) + index;
}

void expect_ops(const Subject& s, const Step& step) {
  if (!records()) return;
  std::size_t moved = 0, notifies = 0;
  const auto notify = step.op == SHMEM_SIGNAL_SET ? weft::NotifyOp::kSet : weft::NotifyOp::kAdd;
  for (const weft::Op& op : take_ops()) {
    expect(s, op.kind == weft::OpKind::kPut, fmt::format("posted kind {}", int(op.kind)));
    moved += op.bytes;
    if (op.notify == weft::NotifyOp::kNone) continue;
    ++notifies;
    expect(s, op.notify == notify && op.value == step.value, "signals something else");
  }
  expect(s, moved == step.count * s.element.size, fmt::format("moved {} bytes", moved));
  expect(s, notifies == 1, fmt::format("signalled {} times", notifies));
}

void check(const Subject& s, const PutSignal& put_signal) {
  begin();
  for (std::size_t i = 0; i < std::size(kCounts); ++i) *signal_word(i) = kBefore;
  shmem_barrier_all();
  take_ops();
  const auto own = script(s, me());
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::byte* const from = mine() + place(s, i);
    std::memcpy(from, own[i].elements.data(), own[i].count * s.element.size);
    put_signal(target() + place(s, i), from, own[i].count, signal_word(i), own[i].value, own[i].op,
               peer());
    expect_ops(s, own[i]);
  }
  if (records()) quiet();  // nothing moves a held op but its context
  const auto steps = script(s, writer());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint64_t seen =
        shmem_signal_wait_until(signal_word(i), SHMEM_CMP_EQ, steps[i].wanted);
    expect(s, seen == steps[i].wanted, fmt::format("the signal is {}", seen));
    expect_elements(s, target() + place(s, i), steps[i].elements.data(), steps[i].count,
                    fmt::format("put by PE {}, when its signal came", writer()));
  }
  quiet();
}

template <class T, class F>
void put_signal(const Subject& s, F f) {
  check(s, [f](void* dst, const void* src, std::size_t count, std::uint64_t* signal,
               std::uint64_t value, int op, int pe) {
    f(static_cast<T*>(dst), static_cast<const T*>(src), count, signal, value, op, pe);
  });
}
template <class T, class F>
void put_signal_nbi(const Subject& s, F f) {
  put_signal<T>(s, f);
}

}  // namespace

void check_signals() {
#define SHMEM_ROUTINE(family, type, bytes, context, name) \
  family<type>(Subject{#name, element_of<type, bytes>()}, context(name));
#include <signals.inc>
#undef SHMEM_ROUTINE
}

}  // namespace census
