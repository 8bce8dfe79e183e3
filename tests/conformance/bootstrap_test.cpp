// The promises of every Bootstrap, whatever carries it: PEs as threads over the local bootstrap,
// over tcp through one server, and a job of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/server.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

using namespace std::chrono_literals;

// Holds the job; a PE's bootstrap is made on its own thread, as in a program.
class Job {
 public:
  using Maker = std::function<Result<std::unique_ptr<Bootstrap>>(int pe)>;

  Job(int npes, Maker make) : npes_(npes), make_(std::move(make)) {}
  int npes() const { return npes_; }

  // Runs `body` as every PE. The bootstrap lives as long as the body keeps it.
  void run(const std::function<void(std::unique_ptr<Bootstrap>)>& body) {
    std::vector<std::thread> threads;
    for (int pe = 0; pe < npes_; ++pe) {
      threads.emplace_back([&, pe] {
        auto made = make_(pe);
        ASSERT_TRUE(made) << made.status().to_string();
        body(std::move(*made));
      });
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  int npes_;
  Maker make_;
};

struct Kind {
  std::string name;
  int npes;
  std::function<Job(int npes, Options options)> job;
};

Job local_job(int npes, Options options) {
  auto made = std::make_shared<std::vector<std::unique_ptr<Bootstrap>>>(
      make_local_bootstraps(npes, options));
  return Job(npes, [made](int pe) -> Result<std::unique_ptr<Bootstrap>> {
    return std::move((*made)[static_cast<std::size_t>(pe)]);
  });
}

Job tcp_job(int npes, Options options) {
  auto server = tcp::Server::start(npes, options);
  EXPECT_TRUE(server) << server.status().to_string();
  std::shared_ptr<tcp::Server> shared = std::move(*server);
  return Job(npes, [shared, npes, options](int pe) {
    return make_tcp_bootstrap(shared->id_text(), pe, npes, options);
  });
}

Job single_job(int, Options) {
  return Job(1, [](int) -> Result<std::unique_ptr<Bootstrap>> { return make_single_bootstrap(); });
}

class BootstrapConformance : public ::testing::TestWithParam<Kind> {
 protected:
  Job job(double timeout_s = 60) {
    Options options;
    options.start_timeout = timeout_s;
    return GetParam().job(GetParam().npes, options);
  }
  bool alone() const { return GetParam().npes == 1; }
};

Blob pattern(unsigned seed, int pe, int round) {
  std::mt19937 random(seed + static_cast<unsigned>(pe * 1000 + round));
  constexpr std::size_t kSizes[] = {0, 1, 7, 64, 4097, 200'001};
  Blob blob(kSizes[random() % std::size(kSizes)]);
  for (std::byte& b : blob) b = static_cast<std::byte>(random());
  return blob;
}

TEST_P(BootstrapConformance, GathersBytesOfAnySizeInPeOrder) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Job all = job();
  all.run([&](std::unique_ptr<Bootstrap> bootstrap) {
    ASSERT_EQ(bootstrap->npes(), all.npes());
    for (int round = 0; round < 20; ++round) {
      auto gathered = bootstrap->allgather(pattern(seed, bootstrap->pe(), round));
      ASSERT_TRUE(gathered) << gathered.status().to_string();
      ASSERT_EQ(gathered->size(), static_cast<std::size_t>(all.npes()));
      for (int pe = 0; pe < all.npes(); ++pe) {
        ASSERT_EQ((*gathered)[static_cast<std::size_t>(pe)], pattern(seed, pe, round))
            << "PE " << pe << " round " << round;
      }
    }
    EXPECT_TRUE(bootstrap->leave()) << bootstrap->health().to_string();
  });
}

TEST_P(BootstrapConformance, NobodyPassesABarrierBeforeEverybodyCame) {
  std::atomic<int> arrived{0};
  Job all = job();
  all.run([&](std::unique_ptr<Bootstrap> bootstrap) {
    for (int round = 1; round <= 200; ++round) {
      arrived.fetch_add(1);
      ASSERT_TRUE(bootstrap->barrier());
      EXPECT_GE(arrived.load(), round * all.npes());
    }
    EXPECT_TRUE(bootstrap->health());
    EXPECT_TRUE(bootstrap->leave());
  });
}

TEST_P(BootstrapConformance, LeavingWaitsForAllAndNobodyIsLost) {
  std::atomic<int> leaving{0};
  Job all = job();
  all.run([&](std::unique_ptr<Bootstrap> bootstrap) {
    if (bootstrap->pe() == 0) std::this_thread::sleep_for(20ms);
    leaving.fetch_add(1);
    const Status left = bootstrap->leave();
    EXPECT_TRUE(left) << left.to_string();
    EXPECT_EQ(leaving.load(), all.npes());
  });
}

TEST_P(BootstrapConformance, AbortEndsEverybodysWaitAndStays) {
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    const int last = bootstrap->npes() - 1;
    if (bootstrap->pe() == last) {
      bootstrap->abort(42, "the answer was wrong");
    } else {
      EXPECT_TRUE(bootstrap->barrier().is(Code::kAborted));
    }
    for (const Status& status :
         {bootstrap->health(), bootstrap->barrier(), bootstrap->allgather({}).status()}) {
      EXPECT_TRUE(status.is(Code::kAborted)) << status.to_string();
      EXPECT_THAT(status.text(), HasSubstr("PE " + std::to_string(last)));
      EXPECT_THAT(status.text(), HasSubstr("code 42: the answer was wrong"));
    }
    EXPECT_TRUE(bootstrap->leave().is(Code::kAborted));
  });
}

TEST_P(BootstrapConformance, HealthSeesAnAbortWithoutACall) {
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    if (bootstrap->pe() == 0) bootstrap->abort(1, "enough");
    while (bootstrap->health()) std::this_thread::yield();
    EXPECT_TRUE(bootstrap->health().is(Code::kAborted));
  });
}

TEST_P(BootstrapConformance, APeThatVanishesIsNamedToAll) {
  if (alone()) GTEST_SKIP() << "nobody to lose";
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    ASSERT_TRUE(bootstrap->barrier());
    if (bootstrap->pe() == 1) return;  // destroyed without leave()
    const bool waits = bootstrap->pe() % 2 == 0;
    while (!waits && bootstrap->health()) std::this_thread::yield();
    const Status status = waits ? bootstrap->allgather({}).status() : bootstrap->health();
    EXPECT_TRUE(status.is(Code::kPeerLost)) << status.to_string();
    EXPECT_THAT(status.text(), HasSubstr("PE 1")) << status.to_string();
    EXPECT_TRUE(bootstrap->leave().is(Code::kPeerLost));
  });
}

TEST_P(BootstrapConformance, APeThatLeftEarlyIsNamedToThoseWhoNeedIt) {
  if (alone()) GTEST_SKIP() << "nobody to miss";
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    const Status status = bootstrap->pe() == 1 ? bootstrap->leave() : bootstrap->barrier();
    EXPECT_TRUE(status.is(Code::kPeerLost)) << status.to_string();
    EXPECT_THAT(status.text(), HasSubstr("PE 1 has left the job")) << status.to_string();
  });
}

TEST_P(BootstrapConformance, WhoIsLateForACallIsNamedToAll) {
  if (alone()) GTEST_SKIP() << "nobody to wait for";
  job(0.2).run([&](std::unique_ptr<Bootstrap> bootstrap) {
    Status status;
    if (bootstrap->pe() == 2 || bootstrap->pe() == 3) {
      while ((status = bootstrap->health())) std::this_thread::yield();
    } else {
      status = bootstrap->barrier();
    }
    EXPECT_TRUE(status.is(Code::kTimeout)) << status.to_string();
    EXPECT_THAT(status.text(),
                HasSubstr("PEs 2 and 3 of 4 have not come to barrier (call 1) within 0.2 s"))
        << status.to_string();
  });
}

TEST_P(BootstrapConformance, ADifferentOrderOfCallsIsAnErrorOnAll) {
  if (alone()) GTEST_SKIP() << "one PE has one order";
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    ASSERT_TRUE(bootstrap->barrier());
    const Status status =
        bootstrap->pe() == 3 ? bootstrap->allgather({}).status() : bootstrap->barrier();
    EXPECT_TRUE(status.is(Code::kInvalidArgument)) << status.to_string();
    for (const char* part : {"different order", "allgather", "barrier", "call 2"}) {
      EXPECT_THAT(status.text(), HasSubstr(part)) << status.to_string();
    }
  });
}

TEST_P(BootstrapConformance, HealthMayBeAskedBesideACall) {
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    std::atomic<bool> stop{false};
    std::thread asker([&] {
      while (!stop.load()) EXPECT_TRUE(bootstrap->health());
    });
    for (int round = 0; round < 100; ++round) EXPECT_TRUE(bootstrap->barrier());
    stop.store(true);
    asker.join();
    EXPECT_TRUE(bootstrap->leave());
  });
}

TEST_P(BootstrapConformance, AbortFromAnotherThreadEndsTheOwnWait) {
  if (alone()) GTEST_SKIP() << "a job of one does not wait";
  job().run([&](std::unique_ptr<Bootstrap> bootstrap) {
    if (bootstrap->pe() != 0) {
      while (bootstrap->health()) std::this_thread::yield();
    } else {
      std::thread other([&] { bootstrap->abort(7, "from aside"); });
      EXPECT_TRUE(bootstrap->barrier().is(Code::kAborted));
      other.join();
    }
    EXPECT_TRUE(bootstrap->health().is(Code::kAborted));
  });
}

INSTANTIATE_TEST_SUITE_P(All, BootstrapConformance,
                         ::testing::Values(Kind{"local", 4, local_job}, Kind{"tcp", 4, tcp_job},
                                           Kind{"single", 1, single_job}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
