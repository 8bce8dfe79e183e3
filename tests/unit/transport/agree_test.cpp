#include "host/transport/agree.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace weft {
namespace {

TEST(Pack, RoundTrips) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 100; ++round) {
    std::vector<Blob> parts(random() % 5);
    for (Blob& part : parts) part = random_bytes(random, random() % 40);
    const auto back = unpack(pack(parts));
    ASSERT_TRUE(back.is_ok());
    EXPECT_EQ(*back, parts);
  }
}

TEST(Pack, ACutRecordIsAnErrorAtEveryLength) {
  const std::vector<Blob> parts = {Blob(3), Blob(0), Blob(9)};
  const Blob whole = pack(parts);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto back =
        unpack(Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)));
    const bool between_parts = bytes == 0 || bytes == 11 || bytes == 19;
    EXPECT_EQ(back.is_ok(), between_parts) << bytes;
  }
  Blob lies(16, std::byte{0xff});  // a length beyond everything
  EXPECT_FALSE(unpack(lies).is_ok());
}

TEST(Agree, OneFailureIsEverybodys) {
  auto bootstraps = make_local_bootstraps(3, Options{});
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < 3; ++pe)
    threads.emplace_back([&, pe] {
      const Status mine = pe == 1 ? Status::error(Code::kOutOfMemory, "no pages") : Status::ok();
      results[pe] = agree(*bootstraps[pe], mine, "taking memory");
      EXPECT_TRUE(agree(*bootstraps[pe], Status::ok(), "nothing").is_ok());
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) EXPECT_EQ(result.code(), Code::kOutOfMemory);
  EXPECT_STREQ(results[1].text(), "no pages");
  EXPECT_STREQ(results[2].text(), "taking memory failed on PE 1: no pages");
}

TEST(Agree, ADamagedFailureIsStillAFailure) {
  EXPECT_TRUE(decode({}, 0, "x").is_ok());
  EXPECT_EQ(decode({std::byte{0}}, 0, "x").code(), Code::kInternal);
  EXPECT_EQ(decode({std::byte{250}}, 0, "x").code(), Code::kInternal);
}

}  // namespace
}  // namespace weft
