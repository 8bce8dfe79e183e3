// Both ends of PMI over socket pairs: our clients against weft-run's PMI-1 rules, and against a
// PMI-2 server of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "bootstrap/launcher.hpp"
#include "bootstrap/run/pmi1_server.hpp"
#include "src/base/unique_fd.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using pmi::Form;
using pmi::Message;
using ::testing::HasSubstr;

constexpr double kPatience_s = 60;

// The launcher's side: a thread for each PE, and one set of rules for all.
class FakeLauncher {
 public:
  virtual ~FakeLauncher() { stop(); }
  explicit FakeLauncher(int npes) : npes_(npes) {
    for (int pe = 0; pe < npes; ++pe) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
      ours_.emplace_back(ends[0]);
      theirs_.push_back(ends[1]);
    }
  }
  int npes() const { return npes_; }
  // Given away: the client closes it.
  int fd(int pe) const { return theirs_[static_cast<std::size_t>(pe)]; }
  virtual Result<std::unique_ptr<Launcher>> connect(int pe) = 0;

 protected:
  void start() {
    for (int pe = 0; pe < npes_; ++pe) threads_.emplace_back([this, pe] { serve(pe); });
  }
  void stop() {
    for (const UniqueFd& fd : ours_) ::shutdown(fd.get(), SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void send(int pe, const std::string& text) {
    EXPECT_EQ(
        ::send(ours_[static_cast<std::size_t>(pe)].get(), text.data(), text.size(), MSG_NOSIGNAL),
        static_cast<ssize_t>(text.size()));
  }
  // May change the decoder's form.
  virtual void answer(int pe, const Message& message, pmi::Decoder& decoder) = 0;

  std::mutex mutex_;

 private:
  void serve(int pe) {
    pmi::Decoder decoder(Form::kLine);
    std::array<char, 64> piece;
    for (;;) {
      const ssize_t n =
          ::recv(ours_[static_cast<std::size_t>(pe)].get(), piece.data(), piece.size(), 0);
      if (n <= 0) return;
      decoder.feed(std::string_view(piece.data(), static_cast<std::size_t>(n)));
      for (;;) {
        const auto message = decoder.next();
        ASSERT_TRUE(message) << message.status().to_string();
        if (!message->has_value()) break;
        answer(pe, **message, decoder);
      }
    }
  }

  const int npes_;
  std::vector<UniqueFd> ours_;
  std::vector<int> theirs_;
  std::vector<std::thread> threads_;
};

class FakePmi1 final : public FakeLauncher {
 public:
  explicit FakePmi1(int npes) : FakeLauncher(npes), rules_(npes) { start(); }
  ~FakePmi1() override { stop(); }
  Result<std::unique_ptr<Launcher>> connect(int pe) override {
    return make_pmi1_launcher(fd(pe), pe, npes(), Deadline(kPatience_s));
  }
  std::optional<int> abort_code() {
    const std::lock_guard lock(mutex_);
    return rules_.abort_code();
  }
  bool anybody_inside() {
    const std::lock_guard lock(mutex_);
    for (int pe = 0; pe < npes(); ++pe) {
      if (rules_.is_inside(pe)) return true;
    }
    return false;
  }

 private:
  void answer(int pe, const Message& message, pmi::Decoder&) override {
    EXPECT_LE(encode(message, Form::kLine).size(), 1024u);  // as old launchers read
    const std::lock_guard lock(mutex_);
    for (const auto& reply : rules_.handle(pe, message)) {
      send(reply.pe, encode(reply.message, Form::kLine));
    }
  }
  run::Pmi1Server rules_;
};

// As Slurm writes it: the length in front filled up with spaces behind.
std::string filled_behind(const std::string& counted) {
  const auto first = counted.find_first_not_of(' ');
  return counted.substr(first, 6 - first) + std::string(first, ' ') + counted.substr(6);
}

class FakePmi2 final : public FakeLauncher {
 public:
  explicit FakePmi2(int npes) : FakeLauncher(npes) { start(); }
  ~FakePmi2() override { stop(); }
  Result<std::unique_ptr<Launcher>> connect(int pe) override {
    return make_pmi2_launcher(fd(pe), pe, pe % 2 == 0 ? "7.0" : "", Deadline(kPatience_s));
  }

 private:
  void reply(int pe, Message message) {
    message.fields.emplace_back("rc", "0");
    const std::string text = encode(message, Form::kCounted);
    send(pe, pe % 2 == 0 ? filled_behind(text) : text);
  }

  void answer(int pe, const Message& message, pmi::Decoder& decoder) override {
    const std::lock_guard lock(mutex_);
    if (message.command == "init") {
      decoder.set_form(Form::kCounted);
      send(pe, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    } else if (message.command == "fullinit") {
      EXPECT_EQ(message.number("pmirank"), pe);
      reply(pe, {"fullinit-response",
                 {{"rank", std::to_string(pe)}, {"size", std::to_string(npes())}}});
    } else if (message.command == "job-getid") {
      reply(pe, {"job-getid-response", {{"jobid", "7.0"}}});
    } else if (message.command == "info-getjobattr") {
      reply(pe, {"info-getjobattr-response", {{"found", "FALSE"}}});
    } else if (message.command == "kvs-put") {
      EXPECT_LE(message.text("value").size(), 1023u);
      store_[message.text("key")] = message.text("value");
      reply(pe, {"kvs-put-response", {}});
    } else if (message.command == "kvs-fence") {
      if (++at_fence_ % npes() != 0) return;
      for (int other = 0; other < npes(); ++other) reply(other, {"kvs-fence-response", {}});
    } else if (message.command == "kvs-get") {
      EXPECT_EQ(message.text("jobid"), "7.0");
      const auto found = store_.find(message.text("key"));
      reply(pe, {"kvs-get-response",
                 {{"found", found == store_.end() ? "FALSE" : "TRUE"},
                  {"value", found == store_.end() ? "" : found->second}}});
    } else if (message.command == "finalize") {
      reply(pe, {"finalize-response", {}});
    } else {
      ADD_FAILURE() << message.command;
    }
  }

  std::map<std::string, std::string> store_;
  int at_fence_ = 0;
};

void as_every_pe(int npes, const std::function<void(int pe)>& body) {
  std::vector<std::thread> threads;
  for (int pe = 0; pe < npes; ++pe) threads.emplace_back([&, pe] { body(pe); });
  for (std::thread& thread : threads) thread.join();
}

std::string bytes(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i * 7);
  return text;
}

template <class Fake>
void broadcasts(bool one_host) {
  for (const int npes : {1, 2, 3, 7}) {
    Fake fake(npes);
    as_every_pe(npes, [&](int pe) {
      auto launcher = fake.connect(pe);
      ASSERT_TRUE(launcher) << launcher.status().to_string();
      EXPECT_EQ((*launcher)->pe(), pe);
      EXPECT_EQ((*launcher)->npes(), npes);
      EXPECT_EQ((*launcher)->one_host(), one_host);
      for (const std::size_t size : {0, 1, 510, 511, 512, 2047, 2048, 10'000}) {
        const auto told =
            (*launcher)->broadcast(pe == 0 ? bytes(size) : "ignored", Deadline(kPatience_s));
        ASSERT_TRUE(told) << told.status().to_string();
        EXPECT_EQ(*told, bytes(size));
      }
      (*launcher)->finalize();
    });
  }
}

TEST(Pmi1Launcher, BroadcastsAnyBytesOfAnyLength) { broadcasts<FakePmi1>(true); }
TEST(Pmi2Launcher, BroadcastsAnyBytesOfAnyLength) { broadcasts<FakePmi2>(false); }

TEST(Pmi1Launcher, MeetsOverTcpAndSaysGoodbye) {
  FakePmi1 fake(4);
  as_every_pe(4, [&](int pe) {
    auto launcher = fake.connect(pe);
    ASSERT_TRUE(launcher) << launcher.status().to_string();
    auto bootstrap = meet_through(std::move(*launcher), {});
    ASSERT_TRUE(bootstrap) << bootstrap.status().to_string();
    EXPECT_EQ((*bootstrap)->name(), "pmi1");
    const Blob mine(static_cast<std::size_t>(pe), std::byte{1});
    const auto all = (*bootstrap)->allgather(mine);
    ASSERT_TRUE(all) << all.status().to_string();
    for (std::size_t other = 0; other < 4; ++other) EXPECT_EQ((*all)[other].size(), other);
    EXPECT_TRUE((*bootstrap)->leave());
  });
  EXPECT_FALSE(fake.anybody_inside());
}

TEST(Pmi1Launcher, AnAbortReachesPesAndLauncher) {
  FakePmi1 fake(3);
  as_every_pe(3, [&](int pe) {
    auto launcher = fake.connect(pe);
    ASSERT_TRUE(launcher) << launcher.status().to_string();
    auto bootstrap = meet_through(std::move(*launcher), {});
    ASSERT_TRUE(bootstrap) << bootstrap.status().to_string();
    if (pe == 1) (*bootstrap)->abort(42, "the answer was wrong");
    const Status status = (*bootstrap)->barrier();
    EXPECT_TRUE(status.is(Code::kAborted)) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr("the answer was wrong"));
  });
  while (!fake.abort_code()) std::this_thread::yield();
  EXPECT_EQ(*fake.abort_code(), 42);
}

TEST(Pmi1Launcher, WhenPeZeroHasNoPlaceToMeetAllAreTold) {
  FakePmi1 fake(3);
  Options options;
  options.bind_address = "192.0.2.1";  // of nobody
  as_every_pe(3, [&](int pe) {
    auto launcher = fake.connect(pe);
    ASSERT_TRUE(launcher) << launcher.status().to_string();
    const auto bootstrap = meet_through(std::move(*launcher), options);
    ASSERT_FALSE(bootstrap);
    EXPECT_THAT(bootstrap.status().to_string(), HasSubstr("WEFT_BIND_ADDRESS"));
  });
}

TEST(Pmi1Launcher, NamesWhatTheEnvironmentLacks) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd server(ends[0]);
  const auto launcher = make_pmi1_launcher(ends[1], -1, 2, Deadline(kPatience_s));
  EXPECT_THAT(launcher.status().to_string(), HasSubstr("PMI_RANK is -1"));
}

// The status of a client whose server answers its handshake so, and then closes or stays silent.
Status handshake_with(const std::string& answer, bool close, double patience_s) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  UniqueFd server(ends[0]);
  EXPECT_EQ(::write(server.get(), answer.data(), answer.size()),
            static_cast<ssize_t>(answer.size()));
  if (close) ::shutdown(server.get(), SHUT_WR);
  return make_pmi1_launcher(ends[1], 0, 2, Deadline(patience_s)).status();
}

TEST(Pmi1Launcher, ABrokenLauncherIsAnErrorAndNeverAHang) {
  EXPECT_TRUE(handshake_with("", true, kPatience_s).is(Code::kPeerLost));
  EXPECT_TRUE(handshake_with("", false, 0.01).is(Code::kTimeout));
  EXPECT_THAT(handshake_with("cmd=something else\n", false, kPatience_s).to_string(),
              HasSubstr("answered PMI init with something else"));
  EXPECT_THAT(handshake_with("HTTP/1.1 400\n", false, kPatience_s).to_string(),
              HasSubstr("no PMI message"));
  EXPECT_THAT(
      handshake_with("cmd=response_to_init rc=-1 msg=go away\n", false, kPatience_s).to_string(),
      HasSubstr("go away"));
  EXPECT_THAT(handshake_with("cmd=response_to_init rc=0\ncmd=maxes vallen_max=2\n"
                             "cmd=my_kvsname kvsname=k\n",
                             false, kPatience_s)
                  .to_string(),
              HasSubstr("too few for anything"));
}

TEST(Pmi1Server, RefusesWhatItCannotDo) {
  run::Pmi1Server server(2);
  const auto ask = [&](const char* line) {
    const auto message = pmi::decode(line, Form::kLine);
    const auto answers = server.handle(0, *message);
    return answers.empty() ? std::string() : encode(answers.front().message, Form::kLine);
  };
  EXPECT_THAT(ask("cmd=init pmi_version=2 pmi_subversion=0"), HasSubstr("rc=-1"));
  EXPECT_THAT(ask("cmd=spawn"), HasSubstr("cmd=spawn_result rc=-1"));
  EXPECT_THAT(ask("cmd=put kvsname=other key=a value=b"), HasSubstr("rc=-1"));
  EXPECT_THAT(ask("cmd=put kvsname=weft-run key=a value=b"), HasSubstr("rc=0"));
  EXPECT_THAT(ask("cmd=put kvsname=weft-run key=a value=c"), HasSubstr("duplicate_key"));
  EXPECT_THAT(ask("cmd=get kvsname=weft-run key=a"), HasSubstr("value=b"));
  EXPECT_THAT(ask("cmd=get kvsname=weft-run key=b"), HasSubstr("rc=-1"));
  const std::string long_value(run::Pmi1Server::kMostValue, 'x');
  EXPECT_THAT(ask(("cmd=put kvsname=weft-run key=l value=" + long_value).c_str()),
              HasSubstr("too_long"));
}

// Clients of PMI-1 keep lines in buffers of 1024 bytes. NVSHMEM's bootstrap makes values half as
// long as it is told that they may be, and keys of 30 characters.
TEST(Pmi1Server, ClientsWithLinesOf1024BytesGetOn) {
  run::Pmi1Server server(2);
  const auto ask = [&](int pe, const pmi::Message& message) {
    EXPECT_LT(encode(message, Form::kLine).size(), 1024u);
    const auto answers = server.handle(pe, message);
    for (const auto& answer : answers) EXPECT_LT(encode(answer.message, Form::kLine).size(), 1024u);
    return answers.empty() ? pmi::Message() : answers.front().message;
  };
  const pmi::Message maxes = ask(0, {"get_maxes", {}});
  EXPECT_EQ(maxes.number("vallen_max"), 1024);
  const std::string store = ask(0, {"get_my_kvsname", {}}).text("kvsname");
  const std::string key = "BOOTSTRAP-0001-00000001-0000-x";
  const std::string value(static_cast<std::size_t>(maxes.number("vallen_max") / 2), 'v');
  EXPECT_EQ(ask(0, {"put", {{"kvsname", store}, {"key", key}, {"value", value}}}).text("rc"), "0");
  EXPECT_EQ(ask(1, {"get", {{"kvsname", store}, {"key", key}}}).text("value"), value);
}

TEST(Pmi1Server, ABarrierEndsWhenTheLastHasCome) {
  run::Pmi1Server server(3);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(server.handle(2, {"barrier_in", {}}).empty());
    EXPECT_TRUE(server.handle(2, {"barrier_in", {}}).empty());  // twice counts once
    EXPECT_TRUE(server.handle(0, {"barrier_in", {}}).empty());
    EXPECT_EQ(server.handle(1, {"barrier_in", {}}).size(), 3u);
  }
}

TEST(Pmi1Server, AnAbortWithoutACodeIsStillAFailure) {
  for (const auto& [code, wanted] : {std::pair("3", 3), {"0", 1}, {"256", 1}}) {
    run::Pmi1Server server(1);
    EXPECT_TRUE(server.handle(0, {"abort", {{"exitcode", code}}}).empty());
    EXPECT_EQ(server.abort_code(), wanted) << code;
  }
  run::Pmi1Server server(1);
  EXPECT_TRUE(server.handle(0, {"abort", {}}).empty());
  EXPECT_TRUE(server.abort_code().has_value());
  EXPECT_NE(*server.abort_code(), 0);
}

}  // namespace
}  // namespace weft
