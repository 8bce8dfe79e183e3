// Flags: a wait that is inlined whole says what others say.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kRounds = 500;

// Everybody sends a number and sets a flag behind it; who has waited for the flag has the number.
struct SendAndWait {
  DeviceContext handle;
  std::uint64_t* numbers;  // [round]
  std::uint64_t* flag;
  int* wrong;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const int next = (ctx.pe() + 1) % ctx.npes(), last = (ctx.pe() + ctx.npes() - 1) % ctx.npes();
    for (std::uint64_t round = 1; round < kRounds; ++round) {
      const std::uint64_t number = round * 1000 + static_cast<std::uint64_t>(ctx.pe());
      ctx.put(dev::Thread{}, numbers + round, &number, 1, next, weft::set(flag, round));
      if (!dev::wait_flag(handle, "flag", {flag, last}, round) ||
          numbers[round] != round * 1000 + static_cast<std::uint64_t>(last))
        ++*wrong;
    }
  }
};

TEST(Flags, WhatWasPutBeforeIsThere) {
  on_pes(Way::kMapped, 3, [](Pe& pe) {
    auto* const numbers = pe.allocate<std::uint64_t>(kRounds);
    auto* const flag = pe.allocate<std::uint64_t>(1);
    SharedVector<int> wrong(1, 0);
    pe.barrier();
    pe.run(1, 1, SendAndWait{pe.handle(), numbers, flag, wrong.data()});
    EXPECT_EQ(wrong[0], 0);
    pe.barrier();
  });
}

struct WaitForNobody {
  DeviceContext handle;
  const std::uint64_t* flag;
  int* answer;
  WEFT_DEVICE void operator()() const {
    *answer = dev::wait_flag(handle, "a flag of PE 2", {flag, 2}, 7) ? 1 : 0;
  }
};

TEST(Flags, ThatAreNotSetAreReported) {
  JobOptions options;
  options.npes = 3;
  options.deadline_ns = 20'000'000;
  DeviceJob job(options);
  const std::uint64_t offset = job.allocate<std::uint64_t>(1);
  auto* const flag = job.at<std::uint64_t>(0, offset);
  *flag = 6;
  SharedVector<int> answer(1, -1);
  enter_pe(0);
  EXPECT_OK(dev::launch({1, 1, 0}, WaitForNobody{job.handle(0), flag, answer.data()}));
  EXPECT_OK(dev::synchronize());
  EXPECT_EQ(answer[0], 0);
  FaultRecord record;
  ASSERT_TRUE(job.take_fault(0, &record));
  EXPECT_EQ(record.code, static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
  EXPECT_EQ(record.pe, 2);
  EXPECT_STREQ(record.where, "a flag of PE 2");
  EXPECT_EQ(record.seen, 6u);
  EXPECT_EQ(record.wanted, 7u);
  EXPECT_EQ(record.offset, offset);
}

}  // namespace
}  // namespace weft::test
