// AllToAllV: counts that differ from pair to pair and from call to call, and lie where kernels are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/collective_play.hpp"

namespace weft::kernels::test {
namespace {

// What rank `from` has for rank `to` in a call: often nothing, now and then more than max_count.
std::uint64_t count_of(std::uint64_t seed, int from, int to) {
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(from * 10 + to));
  switch (random() % 4) {
    case 0: return 0;
    case 1: return 1 + random() % 3;
    case 2: return random() % 700;
    default: return random() % 5000;
  }
}
std::uint16_t element_of(std::uint64_t seed, int from, int to, std::uint64_t i) {
  return static_cast<std::uint16_t>(seed * 7919 + static_cast<std::uint64_t>(from) * 104729 +
                                    static_cast<std::uint64_t>(to) * 1299709 + i * 31);
}

class Exchange {
 public:
  static constexpr std::size_t kSlot = 5003;  // elements for each rank: gaps, and odd addresses

  static Result<Exchange> create(Runtime& rt, const CollectiveOptions& options) {
    Exchange made(rt);
    ASSIGN_OR_RETURN(AllToAllV op,
                     AllToAllV::create(rt, {1000, DType::kFloat16, ReduceOp::kSum}, options));
    made.op_.emplace(std::move(op));
    const std::size_t elements = kSlot * static_cast<std::size_t>(rt.npes());
    ASSIGN_OR_RETURN(made.in_, rt.allocate_device<std::uint16_t>(elements));
    ASSIGN_OR_RETURN(made.out_, rt.allocate_device<std::uint16_t>(elements));
    ASSIGN_OR_RETURN(made.words_,
                     rt.allocate_device<std::uint64_t>(4 * static_cast<std::size_t>(rt.npes())));
    return Result<Exchange>(std::move(made));  // nvcc would copy it
  }

  Status play(std::uint64_t seed) {
    const int npes = rt_->npes(), me = rt_->pe();
    const auto n = static_cast<std::size_t>(npes);
    std::vector<std::uint16_t> in(kSlot * n), out(kSlot * n, 0xffff);
    std::vector<std::uint64_t> words(4 * n, ~std::uint64_t{0});
    for (std::size_t r = 0; r < n; ++r) {
      words[r] = count_of(seed, me, static_cast<int>(r));
      words[n + r] = r * kSlot;
      words[2 * n + r] = (n - 1 - r) * kSlot;  // in another order than the ranks'
      for (std::uint64_t i = 0; i < words[r]; ++i)
        in[r * kSlot + i] = element_of(seed, me, static_cast<int>(r), i);
    }
    RETURN_IF_ERROR(put(in_, in));
    RETURN_IF_ERROR(put(out_, out));
    RETURN_IF_ERROR(put(words_, words));
    RETURN_IF_ERROR(
        (*op_)(nullptr, out_, in_, {words_, words_ + n, words_ + 2 * n, words_ + 3 * n}));
    RETURN_IF_ERROR(dev::synchronize());
    RETURN_IF_ERROR(get(out, out_));
    RETURN_IF_ERROR(get(words, words_));
    for (std::size_t r = 0; r < n; ++r) {
      const std::uint64_t count = count_of(seed, static_cast<int>(r), me);
      EXPECT_EQ(words[3 * n + r], count) << "from " << r;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kSlot; ++i) {
        const std::uint16_t want =
            i < count ? element_of(seed, static_cast<int>(r), me, i) : std::uint16_t{0xffff};
        wrong += out[(n - 1 - r) * kSlot + i] != want;
      }
      EXPECT_EQ(wrong, 0u) << "of " << count << " from " << r;
    }
    return Status::ok();
  }

  Status refuse() {
    const Status status = (*op_)(nullptr, out_, in_, {words_, nullptr, words_, words_});
    EXPECT_CODE(status, Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr("sizes.send_offsets"));
    return Status::ok();
  }

 private:
  explicit Exchange(Runtime& rt) : rt_(&rt) {}
  template <class T>
  Status put(T* to, const std::vector<T>& from) {
    RETURN_IF_ERROR(rt_->context().put(to, from.data(), from.size(), rt_->pe()));
    return rt_->context().quiet();
  }
  template <class T>
  Status get(std::vector<T>& to, const T* from) {
    return rt_->context().get(to.data(), from, to.size(), rt_->pe());
  }
  Runtime* rt_;
  std::optional<AllToAllV> op_;
  std::uint16_t *in_ = nullptr, *out_ = nullptr;
  std::uint64_t* words_ = nullptr;
};

Status play_calls(Runtime& rt, int calls) {
  CollectiveOptions options;
  options.blocks = 1 + static_cast<unsigned>(test_seed() % 3);
  options.threads = kThreads;
  ASSIGN_OR_RETURN(Exchange exchange, Exchange::create(rt, options));
  std::mt19937_64 random(test_seed());
  RETURN_IF_ERROR(exchange.refuse());
  for (int i = 0; i < calls; ++i) RETURN_IF_ERROR(exchange.play(random() >> 40));
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

class AllToAllVTest : public ::testing::TestWithParam<int> {};

TEST_P(AllToAllVTest, BringsWhatEachHasForEach) {
  EXPECT_OK(run_local(
      GetParam(), [](Runtime& rt) { return play_calls(rt, 12); }, job_options()));
}
INSTANTIATE_TEST_SUITE_P(Pes, AllToAllVTest, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

#if WEFT_TARGET_CPU
TEST(AllToAllV, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault =
      "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1,delay=0.5,delay_calls=64";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3, [](Runtime& rt) { return play_calls(rt, 12); }, options));
}
#endif

}  // namespace
}  // namespace weft::kernels::test
