// Reductions and scans: the contents that they start from and must leave, and their baseline.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "perftest/contents.hpp"
#include "perftest/elements.hpp"
#include "perftest/floor/flags.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {

enum class Reduction : std::uint8_t { kReduce, kReducescatter, kInclusive, kExclusive };

template <class T>
T combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::kSum: return static_cast<T>(a + b);
    case ReduceOp::kProd: return static_cast<T>(a * b);
    case ReduceOp::kMin: return b < a ? b : a;
    case ReduceOp::kMax: return a < b ? b : a;
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
T identity(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProd: return T{1};
    case ReduceOp::kMin:
      return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                         : std::numeric_limits<T>::max();
    case ReduceOp::kMax:
      return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                         : std::numeric_limits<T>::lowest();
    case ReduceOp::kAnd: return static_cast<T>(-1);
    default: return T{0};
  }
}

// Element i of PE `pe`: random, but sums and products of all PEs stay inside the type.
template <class T>
T reduction_value(ReduceOp op, std::uint64_t key, std::size_t i, int pe, int npes) {
  const std::uint64_t word = random_word(mix(key, static_cast<std::uint64_t>(pe)), i);
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::kProd)
      return static_cast<T>(0.5 + static_cast<double>(word & 0xffff) / 65536);
    return static_cast<T>(static_cast<double>(word % 20001) / 8 - 1250);
  } else {
    if (op == ReduceOp::kProd) {
      const bool carries = i % static_cast<std::size_t>(npes) == static_cast<std::size_t>(pe);
      return carries ? static_cast<T>(1 + word % 100) : T{1};
    }
    if (op == ReduceOp::kSum && std::is_signed_v<T>) {
      const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) /
                        static_cast<std::uint64_t>(npes);
      const auto magnitude = static_cast<T>(word % (most + 1));
      return (word >> 63) != 0 ? static_cast<T>(-magnitude) : magnitude;
    }
    return static_cast<T>(word);
  }
}

class ReductionData : public Test {
 public:
  ReductionData(Job& job, const Point& point, Reduction kind);

  Status allocate();
  Status prepare() override;
  Result<Ns> run_floor(Count iters) override;
  Status check() override;
  Work work() const override { return {1, static_cast<double>(point_.bytes)}; }

 protected:
  Job& job_;
  const Point point_;
  const Reduction kind_;
  const std::size_t count_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;

 private:
  std::size_t blocks() const;  // of point_.bytes, in src
  std::size_t first() const;   // element of src that is combined into dst[0]
  // Ranks 0 .. last()-1 take part in my result.
  int last() const;
  template <class T>
  void prepare_as(T);
  template <class T>
  Status check_as(T) const;
  template <class T>
  void by_hand(T);

  std::vector<std::byte> wanted_;
  floor::FlagBarrier flags_;
  std::vector<const std::byte*> mapped_;  // src_ of every PE
};

inline constexpr std::string_view kReductionBaseline =
    "flag barrier, read every mapping in rank order, flag barrier";

}  // namespace weft::perf
