// Random sequences of collectives and what must come out of them. Every PE plays the same script;
// a test says how a step is called (host, kernel, bare algorithm).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/reduce_op.hpp>
#include <weft/team.hpp>

#include "tests/support/small_float.hpp"

namespace weft::script {

enum class Kind {
  kSync,
  kBarrier,
  kBroadcast,
  kFcollect,
  kCollect,
  kAlltoall,
  kAlltoalls,
  kReduce,
  kReduceScatter,
  kScanInclusive,
  kScanExclusive,
  kKinds
};

using Members = std::vector<int>;  // PEs in rank order

struct Step {
  int team = 0;  // index into Script::teams
  Kind kind = Kind::kSync;
  Element type = Element::kInt32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  int root = 0;
  bool in_place = false;
  std::ptrdiff_t dst_stride = 1, src_stride = 1;
  std::uint64_t seed = 0;           // of the data
  std::vector<std::size_t> counts;  // kCollect: per rank
};

struct Script {
  std::vector<Members> teams;  // 0: all PEs
  std::vector<Step> steps;
};

// f(T{}) for the C++ type of an element. Tests of kernels compile a few types only.
template <class F>
void with_type(Element element, F f) {
  switch (element) {
    case Element::kInt8: return f(std::int8_t{});
    case Element::kUint16: return f(std::uint16_t{});
    case Element::kInt32: return f(std::int32_t{});
    default: return f(double{});
  }
}
template <class F>
void with_any_type(Element element, F f) {
  switch (element) {
    case Element::kInt16: return f(std::int16_t{});
    case Element::kInt64: return f(std::int64_t{});
    case Element::kUint8: return f(std::uint8_t{});
    case Element::kUint32: return f(std::uint32_t{});
    case Element::kUint64: return f(std::uint64_t{});
    case Element::kHalf: return f(Half{});
    case Element::kBfloat16: return f(Bfloat16{});
    case Element::kFloat: return f(float{});
    case Element::kLongDouble: return f(static_cast<long double>(0));
    default: return with_type(element, f);
  }
}
inline const std::vector<Element> kFewTypes = {Element::kInt8, Element::kUint16, Element::kInt32,
                                               Element::kDouble};
inline const std::vector<Element> kAllTypes = {
    Element::kInt8,   Element::kInt16,  Element::kInt32,     Element::kInt64, Element::kUint8,
    Element::kUint16, Element::kUint32, Element::kUint64,    Element::kHalf,  Element::kBfloat16,
    Element::kFloat,  Element::kDouble, Element::kLongDouble};

inline bool is_float(Element type) { return type >= Element::kHalf; }

// Sizes around every switch of the algorithms: nothing, one, odd, a message per thread, a slot,
// several shares, large.
inline std::size_t random_size(std::mt19937_64& random, std::size_t slot, std::size_t most) {
  const std::size_t anchors[] = {0, 8, 64, 128, slot - kSlotHeader, slot, 2 * slot, most};
  const std::size_t anchor = anchors[random() % std::size(anchors)];
  const std::size_t jitter = random() % 24;
  const std::size_t size = random() % 2 == 0 || anchor < jitter ? anchor + jitter : anchor - jitter;
  return std::min(size, most);
}

struct ScriptShape {
  int npes = 1;
  std::size_t steps = 100;
  std::size_t most_bytes = 8192;  // of one block
  const std::vector<Element>* types = &kFewTypes;
  int teams = 5;
};

inline Step random_step(const ScriptShape& shape, const Members& members, std::mt19937_64& random) {
  Step step;
  step.kind = static_cast<Kind>(random() % static_cast<unsigned>(Kind::kKinds));
  step.type = (*shape.types)[random() % shape.types->size()];
  step.op = static_cast<ReduceOp>(random() % (is_float(step.type) ? 4 : 7));
  step.in_place = random() % 2 == 0;
  step.dst_stride = static_cast<std::ptrdiff_t>(1 + random() % 3);
  step.src_stride = static_cast<std::ptrdiff_t>(1 + random() % 3);
  step.seed = random();
  step.root = static_cast<int>(random() % members.size());
  const std::size_t slot = team_slot_bytes(shape.npes);
  std::size_t width = 0;
  with_any_type(step.type, [&](auto zero) { width = sizeof(zero); });
  auto count = [&] {
    if (random() % 4 == 0) return static_cast<std::size_t>(random() % 7);
    return random_size(random, slot, shape.most_bytes) / width;
  };
  step.count = count();
  for (std::size_t r = 0; r < members.size(); ++r)
    step.counts.push_back(random() % 3 == 0 ? 0 : count());
  return step;
}

inline Members all_members(int npes) {
  Members all;
  for (int pe = 0; pe < npes; ++pe) all.push_back(pe);
  return all;
}

// Every kind once, of nearly shape.most_bytes: elements have at most 8.
inline Script make_large_script(const ScriptShape& shape, std::mt19937_64& random) {
  Script script;
  script.teams.push_back(all_members(shape.npes));
  for (unsigned kind = 0; kind < static_cast<unsigned>(Kind::kKinds); ++kind) {
    Step step = random_step(shape, script.teams[0], random);
    step.kind = static_cast<Kind>(kind);
    step.count = shape.most_bytes / 8 - random() % 100;
    for (std::size_t& count : step.counts) count = random() % (shape.most_bytes / 8);
    script.steps.push_back(step);
  }
  return script;
}

inline Script make_script(const ScriptShape& shape, std::mt19937_64& random) {
  Script script;
  const Members all = all_members(shape.npes);
  script.teams.push_back(all);
  for (int i = 1; i < shape.teams; ++i) {
    Members some = all;
    std::shuffle(some.begin(), some.end(), random);
    some.resize(1 + random() % some.size());
    script.teams.push_back(some);
  }
  // Every kind once as chance seldom has it: blocks too large for a slot, nothing strided.
  for (unsigned kind = 0; kind < static_cast<unsigned>(Kind::kKinds); ++kind) {
    Step step = random_step(shape, all, random);
    step.kind = static_cast<Kind>(kind);
    step.dst_stride = step.src_stride = 1;
    with_any_type(step.type, [&](auto zero) {
      step.count = std::min(shape.most_bytes, 2 * team_slot_bytes(shape.npes)) / sizeof(zero);
    });
    step.counts.assign(all.size(), step.count);
    script.steps.push_back(step);
  }
  for (std::size_t i = 0; i < shape.steps; ++i) {
    const std::size_t team = random() % 2 == 0 ? 0 : random() % script.teams.size();
    script.steps.push_back(random_step(shape, script.teams[team], random));
    script.steps.back().team = static_cast<int>(team);
  }
  return script;
}

// Room that any step of a script needs for src, and for dst.
inline std::size_t script_buffer_bytes(const ScriptShape& shape) {
  return shape.most_bytes * static_cast<std::size_t>(shape.npes) * 3 + 4096;
}

// --- the reference ------------------------------------------------------------------------------

template <class T>
T element(std::uint64_t seed, int rank, std::size_t index) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(rank) + 1) +
                    0xbf58476d1ce4e5b9u * (index + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  if constexpr (SmallFloat<T>::value)
    return numbers::nearest<T>(static_cast<double>(static_cast<std::int64_t>(x)) * 1e-18);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(x)) * 1e-15);
  else
    return static_cast<T>(x);
}

template <class T>
T apply_plain(ReduceOp op, T a, T b) {
  using U = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  switch (op) {
    case ReduceOp::kSum: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case ReduceOp::kProd: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case ReduceOp::kMin: return std::min(a, b);
    case ReduceOp::kMax: return std::max(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::kAnd) return static_cast<T>(a & b);
    if (op == ReduceOp::kOr) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
  }
  return a;
}

template <class T>
T apply(ReduceOp op, T a, T b) {
  if constexpr (SmallFloat<T>::value) {
    const auto wide = [](T value) { return static_cast<float>(numbers::value_of(value)); };
    return numbers::nearest<T>(apply_plain(op, wide(a), wide(b)));
  } else {
    return apply_plain(op, a, b);
  }
}

template <class T>
T neutral(ReduceOp op) {
  if constexpr (SmallFloat<T>::value) {
    return numbers::nearest<T>(neutral<double>(op));
  } else {
    using Limits = std::numeric_limits<T>;
    switch (op) {
      case ReduceOp::kProd: return 1;
      case ReduceOp::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
      case ReduceOp::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      case ReduceOp::kAnd: return static_cast<T>(-1);
      default: return 0;
    }
  }
}

// Bit for bit; long double has bits that mean nothing, and so has a NaN.
template <class T>
bool is_same(T a, T b) {
  if constexpr (std::is_same_v<T, long double>)
    return a == b;
  else if constexpr (SmallFloat<T>::value)
    return numbers::is_same_float(a, b);
  else
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// As fmt takes it.
template <class T>
auto shown(T value) {
  if constexpr (SmallFloat<T>::value)
    return numbers::value_of(value);
  else
    return value;
}

// --- one step on one PE -------------------------------------------------------------------------

template <class T>
class StepData {
 public:
  // `src` and `dst` have room for `bytes`.
  StepData(const Step& step, const Team& team, std::byte* src, std::byte* dst, std::size_t bytes)
      : step_(step), team_(team), bytes_(bytes) {
    src_ = reinterpret_cast<T*>(src);
    dst_ = reinterpret_cast<T*>(step.in_place && step.kind >= Kind::kReduce ? src : dst);
  }
  T* src() const { return src_; }
  T* dst() const { return dst_; }

  // How many elements this PE gives: the `count` argument of collect.
  std::size_t source_count() const {
    const auto n = static_cast<std::size_t>(team_.size);
    switch (step_.kind) {
      case Kind::kSync:
      case Kind::kBarrier: return 0;
      case Kind::kCollect: return step_.counts[static_cast<unsigned>(team_.rank)];
      case Kind::kAlltoall:
      case Kind::kReduceScatter: return n * step_.count;
      case Kind::kAlltoalls: return n * step_.count * static_cast<std::size_t>(step_.src_stride);
      default: return step_.count;
    }
  }
  void prepare() {
    std::memset(static_cast<void*>(src_), 0xa5, bytes_);
    std::memset(static_cast<void*>(dst_), 0xa5, bytes_);
    for (std::size_t i = 0; i < source_count(); ++i) src_[i] = at(team_.rank, i);
  }
  // After the call src may be used for anything.
  void spoil() { std::memset(static_cast<void*>(src_), 0x5a, bytes_); }

  // The first fault in dst; "" if there is none.
  std::string check() const {
    const std::size_t count = step_.count;
    const int n = team_.size;
    const auto size = static_cast<std::size_t>(n);
    const auto me = static_cast<std::size_t>(team_.rank);
    const auto dst_stride = static_cast<std::size_t>(step_.dst_stride);
    const auto src_stride = static_cast<std::size_t>(step_.src_stride);
    std::string wrong;
    std::size_t filled = count;
    auto expect = [&](std::size_t index, T wanted) {
      if (wrong.empty() && !is_same(dst_[index], wanted))
        wrong = fmt::format("dst[{}] is {}, not {}", index, shown(dst_[index]), shown(wanted));
    };
    switch (step_.kind) {
      case Kind::kSync:
      case Kind::kBarrier: filled = 0; break;
      case Kind::kBroadcast:
        for (std::size_t i = 0; i < count; ++i) expect(i, at(step_.root, i));
        break;
      case Kind::kFcollect:
        filled = size * count;
        for (std::size_t i = 0; i < filled; ++i)
          expect(i, at(static_cast<int>(i / count), i % count));
        break;
      case Kind::kCollect:
        filled = 0;
        for (int rank = 0; rank < n; ++rank)
          for (std::size_t i = 0; i < step_.counts[static_cast<unsigned>(rank)]; ++i)
            expect(filled++, at(rank, i));
        break;
      case Kind::kAlltoall:
        filled = size * count;
        for (std::size_t i = 0; i < filled; ++i)
          expect(i, at(static_cast<int>(i / count), me * count + i % count));
        break;
      case Kind::kAlltoalls:
        filled = size * count == 0 ? 0 : (size * count - 1) * dst_stride + 1;
        for (std::size_t i = 0; i < filled; ++i) {
          const std::size_t e = i / dst_stride;
          T wanted;
          std::memset(static_cast<void*>(&wanted), 0xa5, sizeof(T));  // between the elements
          if (i % dst_stride == 0)
            wanted = at(static_cast<int>(e / count), (me * count + e % count) * src_stride);
          expect(i, wanted);
        }
        break;
      case Kind::kReduceScatter:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(n - 1, me * count + i));
        if (dst_ == src_) return wrong;  // behind it lies what was there
        break;
      case Kind::kScanExclusive:
        for (std::size_t i = 0; i < count; ++i)
          expect(i, me == 0 ? neutral<T>(step_.op) : folded(team_.rank - 1, i));
        break;
      case Kind::kScanInclusive:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(team_.rank, i));
        break;
      default:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(n - 1, i));
        break;
    }
    const auto* rest = reinterpret_cast<const unsigned char*>(dst_ + filled);
    for (int i = 0; wrong.empty() && i < 64; ++i)
      if (rest[i] != 0xa5) wrong = fmt::format("byte {} behind its end was written", i);
    return wrong.empty() ? wrong : wrong + what();
  }

  std::string what() const {
    return fmt::format(" (kind {} operator {} type {} count {} root {} in place {} rank {} of {})",
                       static_cast<int>(step_.kind), static_cast<int>(step_.op),
                       static_cast<int>(step_.type), step_.count, step_.root, step_.in_place,
                       team_.rank, team_.size);
  }

 private:
  T at(int rank, std::size_t index) const { return element<T>(step_.seed, rank, index); }
  // Ranks 0 .. last in rank order, of element `index`.
  T folded(int last, std::size_t index) const {
    T sum = at(0, index);
    for (int rank = 1; rank <= last; ++rank) sum = apply(step_.op, sum, at(rank, index));
    return sum;
  }

  const Step& step_;
  const Team& team_;
  const std::size_t bytes_;
  T* src_;
  T* dst_;
};

// f<kOp>() with the step's operator as a constant, for calls that have it as a template argument.
template <ReduceOp kOp>
struct OpTag {
  static constexpr ReduceOp value = kOp;
};
template <class T, class F>
bool with_op(ReduceOp op, F f) {
  switch (op) {
    case ReduceOp::kSum: return f(OpTag<ReduceOp::kSum>{});
    case ReduceOp::kProd: return f(OpTag<ReduceOp::kProd>{});
    case ReduceOp::kMin: return f(OpTag<ReduceOp::kMin>{});
    case ReduceOp::kMax: return f(OpTag<ReduceOp::kMax>{});
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::kAnd) return f(OpTag<ReduceOp::kAnd>{});
    if (op == ReduceOp::kOr) return f(OpTag<ReduceOp::kOr>{});
    return f(OpTag<ReduceOp::kXor>{});
  }
  return false;
}

}  // namespace weft::script
