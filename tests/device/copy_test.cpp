// Copies: every pair of alignments, sizes around every edge, both ways of sharing the work, by one
// thread and by a block.
#include <cstring>
#include <random>

#include <weft/dev/copy.hpp>

#include <gtest/gtest.h>

#include "tests/device/run_threads.hpp"
#include "tests/support/random.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kRoom = 2048;

struct Buffers {
  alignas(64) std::byte src[kRoom];
  alignas(64) std::byte dst[kRoom];
};

// `copy(scope, dst, src, bytes)` by `threads` threads, every alignment of both ends for each size.
template <class Scope, class Copy>
void check_copies(unsigned threads, const std::vector<std::size_t>& sizes, Copy copy) {
  std::mt19937_64 random(test_seed());
  const auto contents = random_bytes(random, kRoom);
  auto buffers = std::make_unique<Buffers>();
  for (std::size_t bytes : sizes) {
    std::memcpy(buffers->src, contents.data(), kRoom);
    run_grids(1, 1, threads, [&](int) {
      const Scope scope;
      for (std::size_t to = 0; to < 17; ++to)
        for (std::size_t from = 0; from < 17; ++from) {
          if (scope.rank() == 0) std::memset(buffers->dst, 0xa5, to + bytes + 20);
          scope.sync();
          copy(scope, buffers->dst + to, buffers->src + from, bytes);
          scope.sync();
          if (scope.rank() == 0) {
            const std::byte* end = buffers->dst + to + bytes;
            EXPECT_EQ(std::memcmp(buffers->dst + to, contents.data() + from, bytes), 0)
                << bytes << " bytes, " << from << " to " << to << ", " << threads << " threads";
            for (const std::byte* b = buffers->dst; b < buffers->dst + to; ++b)
              EXPECT_EQ(*b, std::byte{0xa5});
            for (const std::byte* b = end; b < end + 20; ++b) EXPECT_EQ(*b, std::byte{0xa5});
          }
          scope.sync();
        }
    });
  }
}

std::vector<std::size_t> up_to(std::size_t most) {
  std::vector<std::size_t> sizes(most + 1);
  for (std::size_t i = 0; i <= most; ++i) sizes[i] = i;
  return sizes;
}

const auto kInterleaved = [](auto scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  dev::copy_interleaved(scope, dst, src, bytes);
};
const auto kShares = [](auto scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  dev::copy_share(scope, dst, src, bytes);
};
const auto kCopy = [](auto scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  dev::copy(scope, dst, src, bytes);
};

TEST(CopyTest, OneThreadCopiesAnything) {
  check_copies<dev::Thread>(1, up_to(80), kCopy);
  check_copies<dev::Thread>(1, up_to(80), kInterleaved);
  check_copies<dev::Thread>(1, {127, 128, 129, 1000, 1900}, kInterleaved);
}

TEST(CopyTest, ABlockSharesTheWork) {
  const std::vector<std::size_t> sizes = {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 383, 1000, 1900};
  for (unsigned threads : {2u, 3u}) {
    check_copies<dev::Block>(threads, sizes, kInterleaved);
    check_copies<dev::Block>(threads, sizes, kShares);
    check_copies<dev::Block>(threads, sizes, kCopy);
  }
}

}  // namespace
}  // namespace weft::test
