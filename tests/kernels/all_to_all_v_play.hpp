// The part of one PE in the tests of AllToAllV: counts that differ from pair to pair and from call
// to call, and lie where kernels are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"

namespace weft::kernels::test {

// The count that rank `from` has for rank `to` in a call: often nothing. With every other seed no
// more than `most`, else now and then five times as much.
inline std::uint64_t count_of(std::uint64_t seed, int from, int to, std::uint64_t most) {
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(from * 10 + to));
  switch (random() % 4) {
    case 0: return 0;
    case 1: return std::min(most, 1 + random() % 3);
    case 2: return random() % (most + 1);
    default: return seed % 2 == 0 ? most : random() % (5 * most + 1);
  }
}
inline std::uint16_t element_of(std::uint64_t seed, int from, int to, std::uint64_t i) {
  return static_cast<std::uint16_t>(seed * 7919 + static_cast<std::uint64_t>(from) * 104729 +
                                    static_cast<std::uint64_t>(to) * 1299709 + i * 31);
}

class Exchange {
 public:
  static Result<Exchange> create(Runtime& rt, const Team& team, std::size_t most,
                                 const CollectiveOptions& options) {
    Exchange made(rt, team, most);
    ASSIGN_OR_RETURN(AllToAllV op,
                     AllToAllV::create(rt, team, {most, DType::kFloat16, ReduceOp::kSum}, options));
    made.op_.emplace(std::move(op));
    const auto n = static_cast<std::size_t>(rt.npes());
    ASSIGN_OR_RETURN(made.in_, rt.allocate_device<std::uint16_t>(made.slot_ * n));
    ASSIGN_OR_RETURN(made.out_, rt.allocate_device<std::uint16_t>(made.slot_ * n));
    ASSIGN_OR_RETURN(made.words_, rt.allocate_device<std::uint64_t>(4 * n));
    return Result<Exchange>(std::move(made));  // nvcc would copy it
  }

  const AllToAllV& op() const { return *op_; }

  Status play(std::uint64_t seed) {
    RETURN_IF_ERROR(prepare(seed));
    RETURN_IF_ERROR(call());
    RETURN_IF_ERROR(dev::synchronize());
    return check(seed);
  }
  Status prepare(std::uint64_t seed) {
    const auto n = static_cast<std::size_t>(team_.size);
    std::vector<std::uint16_t> in(slot_ * n);
    std::vector<std::uint64_t> words(4 * n, ~std::uint64_t{0});
    for (std::size_t r = 0; r < n; ++r) {
      words[r] = count_of(seed, team_.rank, static_cast<int>(r), most_);
      words[n + r] = r * slot_;
      words[2 * n + r] = (n - 1 - r) * slot_;  // in another order than the ranks'
      for (std::uint64_t i = 0; i < words[r]; ++i)
        in[r * slot_ + i] = element_of(seed, team_.rank, static_cast<int>(r), i);
    }
    RETURN_IF_ERROR(put(in_, in));
    RETURN_IF_ERROR(put(out_, std::vector<std::uint16_t>(slot_ * n, kPoison)));
    return put(words_, words);
  }
  Status call() {
    const auto n = static_cast<std::size_t>(team_.size);
    return (*op_)(nullptr, out_, in_, {words_, words_ + n, words_ + 2 * n, words_ + 3 * n});
  }
  Status check(std::uint64_t seed) const {
    const auto n = static_cast<std::size_t>(team_.size);
    std::vector<std::uint16_t> out(slot_ * n);
    std::vector<std::uint64_t> words(4 * n);
    RETURN_IF_ERROR(get(out, out_));
    RETURN_IF_ERROR(get(words, words_));
    for (std::size_t r = 0; r < n; ++r)
      check_from(static_cast<int>(r), seed, &out[(n - 1 - r) * slot_], words[3 * n + r]);
    return Status::ok();
  }

  Status play_without_offsets() {
    return (*op_)(nullptr, out_, in_, {words_, nullptr, words_, words_});
  }

 private:
  static constexpr std::uint16_t kPoison = 0xffff;

  // Gaps, and addresses that are multiples of nothing but the element.
  Exchange(Runtime& rt, const Team& team, std::size_t most)
      : rt_(&rt), team_(team), most_(most), slot_(5 * most + 3) {}

  void check_from(int from, std::uint64_t seed, const std::uint16_t* received,
                  std::uint64_t received_count) const {
    const std::uint64_t count = count_of(seed, from, team_.rank, most_);
    EXPECT_EQ(received_count, count) << "from " << from;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < slot_; ++i)
      wrong += received[i] != (i < count ? element_of(seed, from, team_.rank, i) : kPoison);
    EXPECT_EQ(wrong, 0u) << "of " << count << " from " << from;
  }
  template <class T>
  Status put(T* to, const std::vector<T>& from) {
    RETURN_IF_ERROR(rt_->context().put(to, from.data(), from.size(), rt_->pe()));
    return rt_->context().quiet();
  }
  template <class T>
  Status get(std::vector<T>& to, const T* from) const {
    return rt_->context().get(to.data(), from, to.size(), rt_->pe());
  }

  Runtime* rt_;
  Team team_;
  std::size_t most_, slot_;  // elements
  std::optional<AllToAllV> op_;
  std::uint16_t *in_ = nullptr, *out_ = nullptr;
  std::uint64_t* words_ = nullptr;
};

}  // namespace weft::kernels::test
