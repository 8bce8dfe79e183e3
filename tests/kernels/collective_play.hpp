// The part of one PE in the tests of collective operators: a call with fresh inputs, into an output
// full of NaNs with canaries around it, compared bit by bit with a model of the host's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "kernels/collectives/limits.hpp"
#include "kernels/protocol/sendable.hpp"
#include "src/base/status.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::kernels::test {

using Bytes = std::vector<std::byte>;

struct Step {
  Collective what = Collective::kAllReduce;
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  bool in_place = false;
  std::size_t shift = 0;  // elements from a multiple of 16 bytes to the buffers
  int root = 0;
  std::uint64_t seed = 0;

  std::string text() const {
    return fmt::format("{} of {} {}, op {}, in place {}, shift {}, root {}", to_string(what), count,
                       to_string(dtype), static_cast<int>(op), in_place, shift, root);
  }
};

inline bool splits_in(Collective what) {
  return what == Collective::kReduceScatter || what == Collective::kAllToAll;
}
inline bool splits_out(Collective what) {
  return what == Collective::kAllGather || what == Collective::kAllToAll;
}

// --- elements -----------------------------------------------------------------------------------

template <class F>
auto with_dtype(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat16: return f(Half{});
    case DType::kBfloat16: return f(Bfloat16{});
    case DType::kInt32: return f(std::int32_t{});
    case DType::kUint8: return f(std::uint8_t{});
    default: return f(float{});
  }
}

// Elements have many magnitudes, so that a sum in another order is another one.
template <class T>
T random_element(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else {
    const int exponent = static_cast<int>(random() % 12) - 6;
    const auto mantissa =
        static_cast<float>(static_cast<std::int32_t>(random() & 0xffffff) - 0x800000);
    return static_cast<T>(std::ldexp(mantissa / 0x800000, exponent));
  }
}

// In every other message some words are those for which escaped_lamport_channel.hpp sends another.
inline void add_words_that_are_marked(std::mt19937_64& random, Bytes& bytes) {
  if (random() % 2 == 0) return;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    const std::uint64_t word = ~kEscapeKey ^ (random() & 1);
    if (random() % 8 == 0) std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

// The input of rank `rank` of `size`.
inline Bytes input_of(const Step& step, int rank, int size) {
  return with_dtype(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::mt19937_64 random(step.seed * 1000 + static_cast<std::uint64_t>(rank));
    const std::size_t count =
        step.count * (splits_in(step.what) ? static_cast<std::size_t>(size) : 1);
    Bytes bytes(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      const T value = random_element<T>(random);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    if (!reduces(step.what)) add_words_that_are_marked(random, bytes);
    return bytes;
  });
}

// The model: rank order, small floats as float and rounded once.
template <class T>
auto wide(T value) {
  if constexpr (SmallFloat<T>::value)
    return static_cast<float>(value);
  else
    return value;
}
template <class T>
T fold_element(ReduceOp op, const std::vector<T>& values) {
  auto sum = wide(values[0]);
  using Wide = decltype(sum);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Wide next = wide(values[i]);
    if (op == ReduceOp::kMin) {
      sum = next < sum ? next : sum;
    } else if (op == ReduceOp::kMax) {
      sum = sum < next ? next : sum;
    } else if constexpr (std::is_integral_v<T>) {
      sum = static_cast<T>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(next));
    } else {
      sum = sum + next;
    }
  }
  return static_cast<T>(sum);
}
inline Bytes folded(const Step& step, const std::vector<Bytes>& inputs, std::size_t first) {
  return with_dtype(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    Bytes out(step.count * sizeof(T));
    std::vector<T> values(inputs.size());
    for (std::size_t i = 0; i < step.count; ++i) {
      for (std::size_t r = 0; r < inputs.size(); ++r)
        std::memcpy(&values[r], inputs[r].data() + (first + i) * sizeof(T), sizeof(T));
      const T sum = fold_element(step.op, values);
      std::memcpy(out.data() + i * sizeof(T), &sum, sizeof(T));
    }
    return out;
  });
}

inline Bytes expected(const Step& step, int rank, int size) {
  std::vector<Bytes> inputs;
  for (int r = 0; r < size; ++r) inputs.push_back(input_of(step, r, size));
  const std::size_t bytes = step.count * bytes_of(step.dtype);
  const auto mine = static_cast<std::size_t>(rank);
  switch (step.what) {
    case Collective::kAllReduce: return folded(step, inputs, 0);
    case Collective::kReduceScatter: return folded(step, inputs, mine * step.count);
    case Collective::kBroadcast: return inputs[static_cast<std::size_t>(step.root)];
    default: break;
  }
  Bytes out;
  for (const Bytes& input : inputs) {
    const auto from = input.begin() + static_cast<std::ptrdiff_t>(
                                          step.what == Collective::kAllToAll ? mine * bytes : 0);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
  }
  return out;
}

// --- the operator of a step ---------------------------------------------------------------------

class AnyOperator {
 public:
  static Result<AnyOperator> create(Runtime& rt, const Team& team, Collective what,
                                    const CollectiveProblem& problem,
                                    const CollectiveOptions& options = {}) {
    AnyOperator made;
    switch (what) {
      case Collective::kAllReduce: return fill(made, made.reduce_, rt, team, problem, options);
      case Collective::kAllGather: return fill(made, made.gather_, rt, team, problem, options);
      case Collective::kReduceScatter: return fill(made, made.scatter_, rt, team, problem, options);
      case Collective::kAllToAll: return fill(made, made.all_to_all_, rt, team, problem, options);
      default: return fill(made, made.broadcast_, rt, team, problem, options);
    }
  }
  Status operator()(Stream stream, void* out, const void* in, std::size_t count, int root) {
    if (reduce_) return (*reduce_)(stream, out, in, count);
    if (gather_) return (*gather_)(stream, out, in, count);
    if (scatter_) return (*scatter_)(stream, out, in, count);
    if (all_to_all_) return (*all_to_all_)(stream, out, in, count);
    return (*broadcast_)(stream, out, in, count, root);
  }

 private:
  template <class Op>
  static Result<AnyOperator> fill(AnyOperator& made, std::optional<Op>& holder, Runtime& rt,
                                  const Team& team, const CollectiveProblem& problem,
                                  const CollectiveOptions& options) {
    auto op = Op::create(rt, team, problem, options);
    if (!op) return std::move(op).status();
    holder.emplace(std::move(*op));
    return std::move(made);
  }
  std::optional<AllReduce> reduce_;
  std::optional<AllGather> gather_;
  std::optional<ReduceScatter> scatter_;
  std::optional<AllToAll> all_to_all_;
  std::optional<Broadcast> broadcast_;
};

// --- buffers ------------------------------------------------------------------------------------

inline constexpr std::size_t kCanary = 64;

// Where a step's buffers are: in memory of kernels, filled and read through a context.
class Buffers {
 public:
  // For calls whose larger buffer has up to `bytes`.
  static Result<Buffers> create(Runtime& rt, std::size_t bytes) {
    Buffers made;
    made.rt_ = &rt;
    made.room_ = bytes + 2 * kCanary + 64;
    ASSIGN_OR_RETURN(made.in_, rt.allocate_device<std::byte>(made.room_));
    ASSIGN_OR_RETURN(made.out_, rt.allocate_device<std::byte>(made.room_));
    return made;
  }
  // Inputs are there and the output is poisoned; then the call's arguments.
  Status prepare(const Step& step, int rank, int size) {
    const Bytes input = input_of(step, rank, size);
    const std::size_t element = bytes_of(step.dtype), bytes = step.count * element;
    const std::size_t all = bytes * static_cast<std::size_t>(size);
    RETURN_IF_ERROR(put(in_, Bytes(room_, std::byte{0xff})));
    RETURN_IF_ERROR(put(out_, Bytes(room_, std::byte{0xff})));
    const std::size_t at = kCanary + step.shift * element;
    const auto mine = static_cast<std::size_t>(rank);
    out = out_ + at;
    in = in_ + at;
    out_bytes_ = splits_out(step.what) ? all : bytes;
    if (step.in_place) {
      in = out;
      if (step.what == Collective::kAllGather) in = out + mine * bytes;
      if (step.what == Collective::kReduceScatter) out = out + mine * bytes;
    }
    // A ReduceScatter in place leaves the rest of its input, whatever is there.
    check_around_ = !(step.in_place && step.what == Collective::kReduceScatter);
    return put(in, input);
  }
  Status check(const Step& step, int rank, int size, bool expect_nothing = false) {
    Bytes seen(room_);
    RETURN_IF_ERROR(rt_->context().get_bytes(seen.data(), out_, room_, rt_->pe()));
    const auto at = static_cast<std::size_t>(out - out_);
    const Bytes want = expected(step, rank, size);
    const bool same = want.empty() || std::memcmp(seen.data() + at, want.data(), want.size()) == 0;
    if (!expect_nothing) EXPECT_TRUE(same) << step.text() << difference(seen.data() + at, want);
    for (std::size_t i = 0; check_around_ && i < room_; ++i)
      if ((i < at || i >= at + out_bytes_) && seen[i] != std::byte{0xff}) {
        ADD_FAILURE() << step.text() << ": wrote at " << static_cast<std::ptrdiff_t>(i - at)
                      << " of its output";
        break;
      }
    return Status::ok();
  }

  std::byte* out = nullptr;
  std::byte* in = nullptr;

 private:
  Status put(std::byte* to, const Bytes& from) {
    RETURN_IF_ERROR(rt_->context().put_bytes(to, from.data(), from.size(), rt_->pe()));
    return rt_->context().quiet();
  }
  static std::string difference(const std::byte* seen, const Bytes& want) {
    std::size_t i = 0;
    while (i < want.size() && seen[i] == want[i]) ++i;
    return fmt::format(": differs from byte {} of {} on", i, want.size());
  }
  Runtime* rt_ = nullptr;
  std::size_t room_ = 0, out_bytes_ = 0;
  bool check_around_ = true;
  std::byte *in_ = nullptr, *out_ = nullptr;
};

// One call, prepared and checked.
inline Status play(AnyOperator& op, Buffers& buffers, const Step& step, int rank, int size) {
  RETURN_IF_ERROR(buffers.prepare(step, rank, size));
  RETURN_IF_ERROR(op(nullptr, buffers.out, buffers.in, step.count, step.root));
  RETURN_IF_ERROR(dev::synchronize());
  return buffers.check(step, rank, size);
}

// A stream's first kernel may wait for whatever runs.
struct Nothing {
  WEFT_DEVICE void operator()() const {}
};

// A job of threads whose grids are small: PEs may share a GPU, and have to fit on it at once.
inline Options job_options() {
  Options options;
  options.heap_size = std::uint64_t{256} << 20;
  options.heap_chunk = std::uint64_t{4} << 20;
  options.check = test_seed() % 2 == 0;
#if WEFT_TARGET_CPU
  options.gpu =
      "off";  // also where the library has kernels for GPUs: these tests' streams are threads
#endif
  return options;
}
#if WEFT_TARGET_CPU
inline constexpr unsigned kThreads = 2;
#else
inline constexpr unsigned kThreads = 64;
#endif

}  // namespace weft::kernels::test
