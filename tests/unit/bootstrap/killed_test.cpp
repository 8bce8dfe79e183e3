// A PE that is killed at every moment of its life: the others learn who it was, at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <weft/runtime.hpp>
#include <weft/version.hpp>

#include "bootstrap/tcp/server.hpp"
#include "tests/support/status.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft::tcp {
namespace {

using ::testing::HasSubstr;

enum class Moment { kConnected, kHalfHello, kHello, kJoined, kStarted, kHalfCall, kInCall, kLeft };

constexpr const char* kMomentNames[] = {"Connected", "HalfHello", "Hello",  "Joined",
                                        "Started",   "HalfCall",  "InCall", "Left"};

// A process of its own, forked while this one has no other threads. It gets the id's text, lives
// up to its moment, says so, and waits to be killed.
class Victim {
 public:
  Victim(int pe, int npes, Moment moment) {
    std::array<int, 2> to{}, from{};
    EXPECT_EQ(::pipe(to.data()), 0);
    EXPECT_EQ(::pipe(from.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to[1]);
      ::close(from[0]);
      live(pe, npes, moment, UniqueFd(to[0]), UniqueFd(from[1]));
      ::_exit(0);
    }
    to_ = UniqueFd(to[1]);
    from_ = UniqueFd(from[0]);
    ::close(to[0]);
    ::close(from[1]);
  }

  pid_t pid() const { return pid_; }
  void tell(const std::string& id) {
    ASSERT_EQ(::write(to_.get(), id.data(), id.size()), static_cast<ssize_t>(id.size()));
    to_.reset();
  }
  void await_moment() {
    char there = 0;
    ASSERT_EQ(::read(from_.get(), &there, 1), 1) << "the victim died too early";
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, 0), pid_);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
  }

 private:
  static void send_part(int fd, const net::Bytes& bytes, std::size_t count) {
    if (::send(fd, bytes.data(), count, MSG_NOSIGNAL) != static_cast<ssize_t>(count)) ::_exit(3);
  }

  static void live(int pe, int npes, Moment moment, UniqueFd from, UniqueFd to) {
    std::string text(512, '\0');
    const ssize_t n = ::read(from.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    const auto here = [&] { (void)!::write(to.get(), "!", 1); };
    if (moment == Moment::kStarted || moment == Moment::kLeft) {
      auto made = make_tcp_bootstrap(text, pe, npes, {});
      if (!made) ::_exit(1);
      if (moment == Moment::kLeft && !(*made)->leave()) ::_exit(1);
      here();
      ::pause();
    }
    // By hand, for moments inside what the bootstrap does.
    const IdText id = *parse_id_text(text);
    auto socket = net::connect_to(id.address, Deadline(30));
    if (!socket) ::_exit(2);
    const int fd = socket->get();
    const Hello hello{kProtocol, WEFT_VERSION, *random_bits()};
    const auto frame =
        net::encode_frame(static_cast<std::uint32_t>(Message::kHello),
                          seal(id.secret, kHelloSeal, {hello.nonce, {}}, encode(hello)));
    if (moment == Moment::kConnected) return here(), void(::pause());
    send_part(fd, frame, moment == Moment::kHalfHello ? frame.size() / 2 : frame.size());
    if (moment == Moment::kHalfHello || moment == Moment::kHello) return here(), void(::pause());
    net::Channel channel(std::move(*socket), "server", 1 << 20);
    const auto challenge = channel.receive(Deadline(30), "the challenge");
    if (!challenge) ::_exit(4);
    const Nonces nonces{hello.nonce, *decode_challenge(challenge->payload)};
    const Join join{pe, npes, {::getpid(), "victim"}, {}};
    const auto joins = net::encode_frame(static_cast<std::uint32_t>(Message::kJoin),
                                         seal(id.secret, kJoinSeal, nonces, encode(join)));
    send_part(fd, joins, joins.size());
    if (moment == Moment::kJoined) return here(), void(::pause());
    for (int frames = 0; frames < 2; ++frames) {  // the welcome and the start
      if (!channel.receive(Deadline(30), "the start")) ::_exit(5);
    }
    const auto call = net::encode_frame(static_cast<std::uint32_t>(Message::kWaiting),
                                        encode(Call{Rendezvous::Call::kAllgather, 1}));
    send_part(fd, call, moment == Moment::kHalfCall ? call.size() / 2 : call.size());
    here();
    ::pause();
  }

  pid_t pid_ = -1;
  UniqueFd to_, from_;
};

class KilledTest : public ::testing::TestWithParam<Moment> {};

TEST_P(KilledTest, TheOthersLearnWhoItWas) {
  const Moment moment = GetParam();
  constexpr int kPes = 3;
  Victim victim(1, kPes, moment);
  const Options options;
  auto server = Server::start(kPes, options);
  ASSERT_OK(server);
  const std::string id = (*server)->id_text();
  victim.tell(id);

  std::vector<Status> seen(kPes);
  std::vector<std::thread> others;
  for (const int pe : {0, 2}) {
    others.emplace_back([&, pe] {
      Status& status = seen[static_cast<std::size_t>(pe)];
      auto made = make_tcp_bootstrap(id, pe, kPes, options);
      status = made.status();
      if (!made) return;
      if (moment == Moment::kLeft) return (void)(status = (*made)->leave());
      // A PE that is killed in a call may have brought its share; then the next call misses it.
      status = (*made)->allgather({}).status();
      if (status.is_ok()) status = (*made)->barrier();
    });
  }
  victim.await_moment();
  victim.kill();
  // Before it joins the victim is nobody; only who started it can tell who died.
  const bool nobody =
      moment == Moment::kConnected || moment == Moment::kHalfHello || moment == Moment::kHello;
  if (nobody) (*server)->ended(1, "it was killed by signal 9").ignore();
  for (auto& other : others) other.join();

  for (const int pe : {0, 2}) {
    const Status& status = seen[static_cast<std::size_t>(pe)];
    if (moment == Moment::kLeft) {
      EXPECT_OK(status);
      continue;
    }
    EXPECT_CODE(status, Code::kPeerLost);
    const std::string text(status.text());
    EXPECT_THAT(text, HasSubstr("PE 1"));
    EXPECT_THAT(text,
                nobody ? HasSubstr("signal 9") : HasSubstr("pid " + std::to_string(victim.pid())));
  }
}

INSTANTIATE_TEST_SUITE_P(At, KilledTest,
                         ::testing::Values(Moment::kConnected, Moment::kHalfHello, Moment::kHello,
                                           Moment::kJoined, Moment::kStarted, Moment::kHalfCall,
                                           Moment::kInCall, Moment::kLeft),
                         [](const auto& info) {
                           return std::string(kMomentNames[static_cast<int>(info.param)]);
                         });

// Until all other threads of this process sleep.
void await_rest() {
  const auto is_at_rest = [](const std::filesystem::path& task) {
    std::string stat;
    std::getline(std::ifstream(task / "stat"), stat);
    return task.filename() == std::to_string(::gettid()) || stat.find(") S ") != std::string::npos;
  };
  const auto all_rest = [&] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::all_of(begin(tasks), end(tasks),
                       [&](const auto& task) { return is_at_rest(task.path()); });
  };
  while (!all_rest()) ::usleep(1000);
}

// The usual way to start PEs by hand: fork, and every copy of the id goes with its process.
TEST(ForkedPes, EndWellWithCopiesOfTheId) {
  auto id = UniqueId::create(3);
  ASSERT_OK(id);
  // The serving thread should be at rest while this process forks: the allocators of sanitizers,
  // unlike the C library's, are no good in a fork if another thread was in them.
  {
    auto socket = net::connect_to(parse_id_text(id->text())->address, Deadline(30));
    ASSERT_OK(socket);
    net::Channel stranger(std::move(*socket), "server", 100);
    ASSERT_EQ(::send(stranger.fd(), "?", 1, MSG_NOSIGNAL), 1);
    EXPECT_CODE(stranger.receive(Deadline(30), "the end"), Code::kPeerLost);
  }
  await_rest();
  std::array<int, 2> gate{};  // opens when its writing end is closed
  ASSERT_EQ(::pipe(gate.data()), 0);
  std::vector<pid_t> pids;
  for (const int pe : {1, 2}) {
    pids.push_back(::fork());
    if (pids.back() != 0) continue;
    ::close(gate[1]);
    char none = 0;
    (void)!::read(gate[0], &none, 1);
    auto made = make_tcp_bootstrap(id->text(), pe, 3, {});
    const bool good = made && (*made)->barrier() && (*made)->leave();
    id = UniqueId();
    std::exit(good ? 0 : 1);  // with the destructors of static objects
  }
  ::close(gate[0]);
  ::close(gate[1]);
  auto made = make_tcp_bootstrap(id->text(), 0, 3, {});
  ASSERT_OK(made);
  EXPECT_OK((*made)->barrier());
  EXPECT_OK((*made)->leave());
  for (const pid_t pid : pids) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

// The process that serves is killed: nobody waits for it for ever.
TEST(KilledServer, ItsPesLoseTheMeetingPoint) {
#ifdef WEFT_TEST_TSAN
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the fork of a program that had some";
#endif
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto server = Server::start(2, {});
    const std::string id = server ? (*server)->id_text() : "";
    (void)!::write(pipe[1], id.data(), id.size());
    ::pause();
  }
  ::close(pipe[1]);
  std::string id(512, '\0');
  const ssize_t n = ::read(pipe[0], id.data(), id.size());
  ASSERT_GT(n, 0);
  id.resize(static_cast<std::size_t>(n));
  std::atomic<int> made_count{0};
  std::vector<std::thread> pes;
  for (const int pe : {0, 1}) {
    pes.emplace_back([&, pe] {
      auto made = make_tcp_bootstrap(id, pe, 2, {});
      ASSERT_OK(made);
      if (made_count.fetch_add(1) == 1) ::kill(pid, SIGKILL);  // both are there
      while ((*made)->health()) std::this_thread::yield();
      for (const Status& status : {(*made)->health(), (*made)->barrier(), (*made)->leave()}) {
        EXPECT_CODE(status, Code::kPeerLost);
        EXPECT_THAT(std::string(status.text()), HasSubstr("pid " + std::to_string(pid)));
      }
    });
  }
  for (auto& pe : pes) pe.join();
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  ::close(pipe[0]);
}

}  // namespace
}  // namespace weft::tcp
