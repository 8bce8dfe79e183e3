// Copies: every pair of alignments, sizes around every edge, both ways of sharing the work, by one
// thread and by a block.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include <weft/dev/copy.hpp>

#include "tests/device/kernels.hpp"
#include "tests/device/shared_memory.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kAlignments = 17;  // of either end
constexpr std::size_t kMost = 1900;

struct Copy {
  template <class Scope>
  WEFT_DEVICE void operator()(Scope scope, std::byte* dst, const std::byte* src,
                              std::size_t bytes) const {
    dev::copy(scope, dst, src, bytes);
  }
};
struct Interleaved {
  template <class Scope>
  WEFT_DEVICE void operator()(Scope scope, std::byte* dst, const std::byte* src,
                              std::size_t bytes) const {
    dev::copy_interleaved(scope, dst, src, bytes);
  }
};
#if WEFT_TARGET_CPU
// By memmove, which GPUs do not have.
struct Shares {
  template <class Scope>
  void operator()(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) const {
    dev::copy_share(scope, dst, src, bytes);
  }
};
#endif

// One copy for every pair of alignments, each to a row of its own.
template <class Scope, class How>
struct CopyAll {
  std::byte* rows;
  std::size_t row_bytes;
  const std::byte* src;
  std::size_t bytes;

  WEFT_DEVICE void operator()() const {
    for (std::size_t to = 0; to < kAlignments; ++to)
      for (std::size_t from = 0; from < kAlignments; ++from)
        How{}(Scope{}, rows + (to * kAlignments + from) * row_bytes + to, src + from, bytes);
  }
};

template <class Scope, class How>
void check_copies(unsigned threads, const std::vector<std::size_t>& sizes) {
  std::mt19937_64 random(test_seed());
  for (std::size_t bytes : sizes) {
    // No longer than what is read, so that AddressSanitizer sees what is read beyond either end.
    const auto contents = random_bytes(random, bytes + kAlignments - 1);
    const SharedVector<std::byte> src(contents.begin(), contents.end());
    const std::size_t row_bytes = (kAlignments + bytes + 20 + 63) / 64 * 64;
    SharedVector<std::byte> rows(kAlignments * kAlignments * row_bytes, std::byte{0xa5});
    ASSERT_OK(
        dev::launch({1, threads}, CopyAll<Scope, How>{rows.data(), row_bytes, src.data(), bytes}));
    ASSERT_OK(dev::synchronize());
    std::vector<std::byte> expected(row_bytes);
    for (std::size_t to = 0; to < kAlignments; ++to)
      for (std::size_t from = 0; from < kAlignments; ++from) {
        std::memset(expected.data(), 0xa5, row_bytes);
        std::memcpy(expected.data() + to, src.data() + from, bytes);
        const std::byte* row = rows.data() + (to * kAlignments + from) * row_bytes;
        EXPECT_EQ(std::memcmp(row, expected.data(), row_bytes), 0)
            << bytes << " bytes, " << from << " to " << to << ", " << threads << " threads";
      }
  }
}

std::vector<std::size_t> up_to(std::size_t most) {
  std::vector<std::size_t> sizes(most + 1);
  for (std::size_t i = 0; i <= most; ++i) sizes[i] = i;
  return sizes;
}

TEST(CopyTest, OneThreadCopiesAnything) {
  check_copies<dev::Thread, Copy>(1, up_to(80));
  check_copies<dev::Thread, Interleaved>(1, up_to(80));
  check_copies<dev::Thread, Interleaved>(1, {127, 128, 129, 1000, kMost});
}

TEST(CopyTest, ABlockSharesTheWork) {
  const std::vector<std::size_t> sizes = {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 383, 1000, kMost};
  for (unsigned threads : {2u, 3u, kWarp + 1}) {
    check_copies<dev::Block, Interleaved>(threads, sizes);
    check_copies<dev::Block, Copy>(threads, sizes);
#if WEFT_TARGET_CPU
    check_copies<dev::Block, Shares>(threads, sizes);
#endif
  }
}

}  // namespace
}  // namespace weft::test
