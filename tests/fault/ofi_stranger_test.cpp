// A job of two PEs by ofi over the real libfabric, and somebody who is no member and knows their
// ports: he reads nothing, changes nothing, and the job goes on to its end.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "host/transport/agree.hpp"
#include "host/transport/network/random_key.hpp"
#include "host/transport/ofi/endpoint.hpp"
#include "src/base/status.hpp"
#include "tests/fault/stranger.hpp"
#include "tests/fault/talk.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

constexpr Word kSecret = 0x5ec4e7'5ec4e7;
constexpr std::size_t kSecrets = 1024;

// The listening sockets of this process.
std::vector<sockaddr_in> listeners() {
  std::set<std::string> mine;
  DIR* const files = ::opendir("/proc/self/fd");
  while (const dirent* const file = ::readdir(files)) {
    std::array<char, 64> to{};
    const ssize_t size = ::readlinkat(::dirfd(files), file->d_name, to.data(), to.size() - 1);
    const std::string name(to.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    if (name.starts_with("socket:[")) mine.insert(name.substr(8, name.size() - 9));
  }
  ::closedir(files);
  std::vector<sockaddr_in> found;
  std::ifstream table("/proc/self/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, again, uid, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> again >> uid >> timeout >>
        inode;
    if (state != "0A" || mine.count(inode) == 0) continue;
    sockaddr_in& address = found.emplace_back();
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = static_cast<in_addr_t>(std::stoul(local.substr(0, 8), nullptr, 16));
    address.sin_port = htons(static_cast<in_port_t>(std::stoul(local.substr(9), nullptr, 16)));
  }
  return found;
}

Options by_tcp() {
  Options options = options_by("ofi,loopback");
  options.ofi_provider = "tcp;ofi_rxm";
  return options;
}

// Members' own work: a long put, its signal, an atomic and a get, as long as PE 0 says so.
class Work {
 public:
  static constexpr std::size_t kWords = 5000;

  explicit Work(Runtime& rt) : rt_(rt), ctx_(rt.context()) {}
  Status prepare() {
    ASSIGN_OR_RETURN(bulk_, rt_.callocate<Word>(kWords));
    ASSIGN_OR_RETURN(words_, rt_.callocate<Word>(3));
    return rt_.barrier();
  }
  Status round(bool goes_on, bool& all_go_on) {
    ++rounds_;
    const int peer = 1 - rt_.pe();
    mine_.assign(kWords, rounds_);
    if (rt_.pe() == 0) RETURN_IF_ERROR(ctx_.put(words_ + 2, &(flag_ = goes_on ? 1 : 0), 1, 1));
    RETURN_IF_ERROR(ctx_.fence());
    RETURN_IF_ERROR(ctx_.put(bulk_, mine_.data(), kWords, peer, set(words_, rounds_)));
    RETURN_IF_ERROR(wait_until(ctx_, words_, Cmp::kEq, rounds_));
    EXPECT_EQ(std::count(bulk_, bulk_ + kWords, rounds_), kWords);
    RETURN_IF_ERROR(ctx_.atomic_add(words_ + 1, Word{1}, peer));
    RETURN_IF_ERROR(ctx_.get(mine_.data(), bulk_, kWords, peer));
    RETURN_IF_ERROR(rt_.barrier());
    EXPECT_EQ(words_[1], rounds_);
    all_go_on = rt_.pe() == 0 ? goes_on : words_[2] != 0;
    return rt_.barrier();
  }

 private:
  Runtime& rt_;
  Context& ctx_;
  Word* bulk_ = nullptr;
  Word* words_ = nullptr;
  Word rounds_ = 0, flag_ = 0;
  std::vector<Word> mine_;
};

// The listeners of a job on one host cannot be reached from another.
TEST(OfiStranger, FindsNoListenerFromAnotherHost) {
  const auto body = [](Runtime& rt) -> Status {
    std::size_t count = 0;
    for (const sockaddr_in& each : listeners()) {
      EXPECT_EQ(each.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
      ++count;
    }
    EXPECT_GE(count, 2u);
    return rt.barrier();
  };
  EXPECT_OK(run_local(2, body, by_tcp()));
}

// A job under `attack(listener, address of a secret)`, once for each of its listeners.
template <class Attack>
void expect_unharmed(Attack attack) {
  const auto body = [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Word* const secrets, rt.callocate<Word>(kSecrets));
    std::fill_n(secrets, kSecrets, kSecret);
    RETURN_IF_ERROR(rt.barrier());
    std::atomic<bool> attacks{true};
    std::thread stranger;
    if (rt.pe() == 0) {
      stranger = std::thread([&attack, &attacks, secrets] {
        for (const sockaddr_in& each : listeners())
          attack(each, reinterpret_cast<std::uint64_t>(secrets));
        attacks = false;
      });
    }
    const auto work = [&]() -> Status {
      Work rounds(rt);
      RETURN_IF_ERROR(rounds.prepare());
      for (bool goes_on = true; goes_on;) RETURN_IF_ERROR(rounds.round(attacks, goes_on));
      return Status::ok();
    };
    const Status worked = work();
    if (stranger.joinable()) stranger.join();
    RETURN_IF_ERROR(worked);
    EXPECT_EQ(std::count(secrets, secrets + kSecrets, kSecret), kSecrets);
    return rt.barrier();
  };
  EXPECT_OK(run_local(2, body, by_tcp()));
}

std::vector<std::uint64_t> guesses() {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 16; ++key) keys.push_back(key);
  // Where rxm begins with those that it makes.
  for (std::uint64_t key = 0; key < 4; ++key) keys.push_back((1u << 31) + key);
  std::mt19937_64 random(1);
  for (int i = 0; i < 4; ++i) keys.push_back(random());
  return keys;
}

std::unique_ptr<Stranger> stranger_at(const sockaddr_in& listener) {
  auto made = Stranger::open(listener);
  EXPECT_OK(made);
  return made.is_ok() ? std::move(*made) : nullptr;
}

// A wrong key costs him his connection, so each attempt has one of its own.
TEST(OfiStranger, ReadsAndWritesNoMemory) {
  expect_unharmed([](const sockaddr_in& listener, std::uint64_t secrets) {
    Word got = 0;
    for (const std::uint64_t key : guesses())
      for (const std::uint64_t address : {std::uint64_t{0}, secrets}) {
        SCOPED_TRACE(key);
        EXPECT_FALSE(
            stranger_at(listener)->read(address, key, std::as_writable_bytes(std::span(&got, 1))));
        EXPECT_FALSE(stranger_at(listener)->write(address, key, std::as_bytes(std::span(&got, 1))));
        stranger_at(listener)->add(address, key, 1);
      }
    EXPECT_EQ(got, 0u);
  });
}

// He does not know the number that a PE's messages begin with.
TEST(OfiStranger, FloodsWithMessages) {
  expect_unharmed([](const sockaddr_in& listener, std::uint64_t) {
    const auto stranger = stranger_at(listener);
    std::mt19937_64 random(2);
    std::vector<std::byte> message(ofi::kMessageBytes);
    for (int i = 0; i < 5000; ++i) {
      ofi::Header header{.key = random() % 4, .from = 1, .requests = 1};
      ofi::Request request;
      request.kind = OpKind::kAmoSet;
      request.width = 8;
      std::memcpy(message.data(), &header, sizeof header);
      std::memcpy(message.data() + sizeof header, &request, sizeof request);
      EXPECT_TRUE(stranger->send(std::span(message).first(1 + random() % message.size())));
    }
  });
}

// A member's requests are answered although strangers' messages never cease.
TEST(OfiStranger, DoesNotPutOffAnswers) {
  std::vector<std::unique_ptr<ofi::Endpoint>> ends;
  std::vector<network::Peer> peers(2);
  for (network::Peer& peer : peers) {
    auto made = ofi::Endpoint::open(by_tcp(), true);
    ASSERT_OK(made);
    peer.key = network::random_key();
    peer.usable = true;
    peer.way = bytes_of_value((*made)->fabric().way());
    ends.push_back(std::move(*made));
  }
  std::array<bool, 2> executed{};
  std::array<std::vector<ofi::Event>, 2> events;
  const auto poll = [&](std::size_t pe) { return ends[pe]->poll(events[pe]); };
  for (std::size_t pe : {0, 1})
    ASSERT_OK(ends[pe]->start(static_cast<int>(pe), peers, [&, pe](const Op&, int, int) {
      executed[pe] = true;
      return Status::ok();
    }));
  const auto ask = [&](std::size_t from, int to, auto meanwhile) {
    auto letter = ends[from]->take_batch();
    ASSERT_OK(letter);
    ofi::Request request;
    request.kind = OpKind::kAmoSet;
    (*letter)->add(request, &request);  // without a payload
    Status sent = Status::busy();
    for (; sent.is(Code::kBusy); meanwhile()) sent = ends[from]->send(to, **letter);
    ASSERT_OK(sent);
  };
  const auto both = [&] { return poll(0) | poll(1); };
  ask(1, 0, both);
  while (events[1].empty()) both();

  // Many of the stranger's messages wait at PE 1, and the request comes among them.
  sockaddr_in listener{};
  std::memcpy(&listener, ends[1]->fabric().way().name.data(), sizeof listener);
  const auto stranger = stranger_at(listener);
  std::atomic<bool> connected{false};
  const std::vector<std::byte> message(64);
  std::thread first([&] { connected = stranger->send(message); });
  while (!connected) both();
  first.join();
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(stranger->send(message));
  ask(0, 1, [] {});
  events[0].clear();
  for (int i = 0; i < 100 && !executed[1]; ++i) ASSERT_TRUE(poll(1)) << "the flood has ended";
  ASSERT_TRUE(executed[1]);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(poll(1)) << "the flood has ended";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (events[0].empty() && std::chrono::steady_clock::now() < end) poll(0);
  EXPECT_FALSE(events[0].empty());
}

// He announces messages that the receiver is to fetch, and then serves nobody.
TEST(OfiStranger, HoldsWhatIsToBeFetched) {
  std::vector<std::unique_ptr<Stranger>> all;
  const std::vector<std::byte> message(std::size_t{1} << 20);
  expect_unharmed([&](const sockaddr_in& listener, std::uint64_t) {
    auto& stranger = all.emplace_back(stranger_at(listener));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(stranger->abandon(message, i % 4 == 3));
  });
}

TEST(OfiStranger, ConnectsAndHolds) {
  std::vector<std::unique_ptr<Stranger>> all;
  expect_unharmed([&](const sockaddr_in& listener, std::uint64_t) {
    const std::vector<std::byte> message(8);
    for (int i = 0; i < 8; ++i)
      EXPECT_TRUE(all.emplace_back(stranger_at(listener))->abandon(message, false));
  });
}

}  // namespace
}  // namespace weft
