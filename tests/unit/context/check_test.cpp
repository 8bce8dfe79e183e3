// The checks of arguments, without PEs.
#include "host/context/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include <weft/types.hpp>

#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Check, Pe) {
  EXPECT_OK(check_pe("put", 0, 1));
  EXPECT_OK(check_pe("put", 6, 7));
  for (const int pe : {-1, 7, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
    EXPECT_CODE(check_pe("put", pe, 7), Code::kOutOfRange);
  EXPECT_THAT(std::string(check_pe("get_nbi", 9, 7).text()),
              AllOf(HasSubstr("get_nbi"), HasSubstr("pe is 9"), HasSubstr("PEs 0 to 6")));
}

TEST(Check, Null) {
  int there = 0;
  EXPECT_OK(check_not_null("put", "src", nullptr, 0));
  EXPECT_OK(check_not_null("put", "src", &there, 4));
  const Status status = check_not_null("put", "src", nullptr, 4);
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), AllOf(HasSubstr("put"), HasSubstr("src is null")));
}

TEST(Check, Aligned) {
  alignas(16) char memory[32];
  for (const std::size_t width : {1u, 2u, 4u, 8u})
    for (std::size_t at = 0; at < 16; ++at)
      EXPECT_EQ(check_aligned("wait", "words", memory + at, width).is_ok(), at % width == 0);
}

TEST(Check, Overlap) {
  char memory[100];
  for (std::size_t bytes = 0; bytes < 12; ++bytes)
    for (std::ptrdiff_t apart = -15; apart <= 15; ++apart) {
      const auto distance = static_cast<std::size_t>(apart < 0 ? -apart : apart);
      const bool fine = distance == 0 || distance >= bytes;
      EXPECT_EQ(check_overlap("put", memory + 50, memory + 50 + apart, bytes).is_ok(), fine)
          << bytes << " bytes, " << apart << " apart";
    }
}

TEST(Check, Extent) {
  const auto extent = [](std::ptrdiff_t stride, std::size_t element, std::size_t count) {
    return check_extent("iput", "dst_stride", stride, element, count);
  };
  EXPECT_EQ(extent(1, 8, 0).value(), 0u);
  EXPECT_EQ(extent(5, 8, 1).value(), 8u);
  EXPECT_EQ(extent(1, 8, 3).value(), 24u);
  EXPECT_EQ(extent(5, 8, 3).value(), 88u);
  for (const std::ptrdiff_t stride :
       {std::ptrdiff_t{0}, std::ptrdiff_t{-1}, std::numeric_limits<std::ptrdiff_t>::min()})
    EXPECT_CODE(extent(stride, 8, 3), Code::kInvalidArgument);
  constexpr auto kMost = std::numeric_limits<std::ptrdiff_t>::max();
  EXPECT_CODE(extent(kMost, 8, 3), Code::kOutOfRange);
  EXPECT_CODE(extent(kMost, 1, 4), Code::kOutOfRange);
  EXPECT_CODE(extent(1, 8, ~std::size_t{0}), Code::kOutOfRange);
  EXPECT_CODE(extent(2, 16, std::size_t{1} << 60), Code::kOutOfRange);
}

class CheckHeap : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.heap_size = 1 << 20;
    options.heap_chunk = 64 << 10;
    auto made = Heap::create(cpu_platform(), host_heap(options));
    ASSERT_OK(made);
    heap_ = std::move(*made);
    auto memory = heap_->allocate(100, 0);
    ASSERT_OK(memory);
    block_ = static_cast<std::byte*>(*memory);
  }
  std::unique_ptr<Heap> heap_;
  std::byte* block_ = nullptr;
};

TEST_F(CheckHeap, Symmetric) {
  const auto check = [&](const void* address, std::size_t bytes, bool live) {
    return check_symmetric(*heap_, "put", "dst", address, bytes, live);
  };
  EXPECT_OK(check(block_, 100, true));
  EXPECT_OK(check(block_, 200, false));  // in the heap, which is all that was asked
  EXPECT_CODE(check(block_, 200, true), Code::kInvalidArgument);
  EXPECT_CODE(check(block_, kTooManyBytes, false), Code::kOutOfRange);
  EXPECT_CODE(check(block_, 1 << 20, false), Code::kOutOfRange);
  EXPECT_CODE(check(nullptr, 1, false), Code::kInvalidArgument);
  int local = 0;
  const Status status = check(&local, 4, false).status();
  EXPECT_CODE(status, Code::kNotSymmetric);
  EXPECT_THAT(std::string(status.text()), AllOf(HasSubstr("put"), HasSubstr("argument dst")));
}

TEST_F(CheckHeap, LocalMemoryIsFreeUnlessItIsSymmetric) {
  int local = 0;
  EXPECT_OK(check_local(*heap_, "put", "src", &local, 4));
  EXPECT_OK(check_local(*heap_, "put", "src", nullptr, 0));
  EXPECT_OK(check_local(*heap_, "put", "src", block_, 100));
  EXPECT_CODE(check_local(*heap_, "put", "src", block_, 300), Code::kInvalidArgument);
  ASSERT_OK(heap_->free(block_));
  EXPECT_CODE(check_local(*heap_, "put", "src", block_, 4), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft
