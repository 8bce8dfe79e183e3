#include "host/context/stream_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/idle_platform.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

class StreamsOnly final : public test::IdlePlatform {
 public:
  Result<Stream> create_stream() override {
    const std::lock_guard lock(mutex_);
    if (made_ == most_) return Status::error(Code::kOutOfMemory, "no more streams");
    const auto stream = reinterpret_cast<Stream>(++made_);
    live_.insert(stream);
    return stream;
  }
  Status destroy_stream(Stream stream) override {
    EXPECT_EQ(live_.erase(stream), 1u);
    return Status::ok();
  }
  std::uintptr_t made() const { return made_; }
  std::size_t live() const { return live_.size(); }
  void allow_no_more() { most_ = made_; }

 private:
  std::mutex mutex_;
  std::set<Stream> live_;
  std::uintptr_t made_ = 0, most_ = ~std::uintptr_t{0};
};

TEST(StreamPoolTest, OneCallAtATimeMakesNoStream) {
  StreamsOnly platform;
  {
    StreamPool pool(platform);
    ASSERT_OK(pool.prepare(1));
    Stream first = nullptr;
    for (int i = 0; i < 3; ++i) {
      const auto lease = pool.take();
      ASSERT_OK(lease.status());
      if (i == 0) first = lease->stream();
      EXPECT_EQ(lease->stream(), first);
    }
    EXPECT_EQ(platform.made(), 1u);
  }
  EXPECT_EQ(platform.live(), 0u);
}

TEST(StreamPoolTest, EachCallInProgressHasItsOwn) {
  StreamsOnly platform;
  {
    StreamPool pool(platform);
    ASSERT_OK(pool.prepare(2));
    for (int round = 0; round < 2; ++round) {
      std::vector<StreamPool::Lease> leases;
      std::set<Stream> streams;
      for (int i = 0; i < 5; ++i) {
        auto lease = pool.take();
        ASSERT_OK(lease.status());
        streams.insert(lease->stream());
        leases.push_back(std::move(lease).value());
      }
      EXPECT_EQ(streams.size(), 5u);
    }
    EXPECT_EQ(platform.made(), 5u);
  }
  EXPECT_EQ(platform.live(), 0u);
}

TEST(StreamPoolTest, SaysWhyThereIsNone) {
  StreamsOnly platform;
  StreamPool pool(platform);
  ASSERT_OK(pool.prepare(1));
  platform.allow_no_more();
  const auto lease = pool.take();
  ASSERT_OK(lease.status());
  EXPECT_CODE(pool.take().status(), Code::kOutOfMemory);
}

TEST(StreamPoolTest, ThreadsTakeTheirOwn) {
  constexpr int kThreads = 4, kRounds = 1000;
  StreamsOnly platform;
  {
    StreamPool pool(platform);
    std::atomic<int> users[kThreads + 1] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          const auto lease = pool.take();
          ASSERT_OK(lease.status());
          auto& count = users[reinterpret_cast<std::uintptr_t>(lease->stream())];
          EXPECT_EQ(count++, 0);
          --count;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(platform.made(), static_cast<std::uintptr_t>(kThreads));
  }
  EXPECT_EQ(platform.live(), 0u);
}

}  // namespace
}  // namespace weft
