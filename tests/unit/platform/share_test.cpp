// share and open: between two places of one process, and between processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "src/platform/cpu/fd_message.hpp"
#include "src/platform/cpu/fd_of_process.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/platform.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/base/scoped_env.hpp"
#include "tests/unit/platform/child.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft {
namespace {

using test::Child;
using test::expect;
using test::Line;
using testing::HasSubstr;

const MemoryHints kHints;

std::size_t page() { return cpu_platform().granularity(); }

// A reservation with one chunk `lead` pages into it.
struct Place {
  Memory reserved, chunk;
  Result<Blob> share() const { return cpu_platform().share(chunk); }
};

Place committed(std::size_t pages, std::size_t lead = 0) {
  Place place;
  place.reserved = *cpu_platform().reserve((lead + pages) * page());
  place.chunk =
      *cpu_platform().commit({place.reserved.base() + lead * page(), pages * page()}, kHints);
  return place;
}

Result<Place> opened(const Blob& blob, std::size_t pages, std::size_t lead = 0) {
  Place place;
  place.reserved = *cpu_platform().reserve((lead + pages) * page());
  auto chunk = cpu_platform().open(blob, {place.reserved.base() + lead * page(), pages * page()});
  if (!chunk) return chunk.status();
  place.chunk = std::move(chunk).value();
  return place;
}

// The same chunk for a peer that does not see its owner in /proc, and has to ask on the socket. The
// last words of the blob are the owner's process and descriptor.
Blob by_socket(Blob blob) {
  std::fill(blob.end() - 16, blob.end(), std::byte{0});
  return blob;
}

std::string text(const Status& status) { return std::string(status.text()); }

// A child that shares `pages`, filled with bytes of `fill`, and then does as the line says.
bool own(const Line& line, std::size_t pages, int fill) {
  Place mine = committed(pages);
  std::memset(mine.chunk.base(), fill, mine.chunk.bytes());
  const auto blob = mine.share();
  if (!expect(bool(blob), "share")) return false;
  line.send(*blob);
  line.receive();  // until the parent says so, or is gone
  return true;
}

TEST(CpuShare, OneProcessSeesOneMemoryTwice) {
  std::mt19937_64 random(test_seed());
  for (const std::size_t pages : {std::size_t{1}, std::size_t{7}, std::size_t{1500}}) {
    const std::size_t lead = random() % 600;  // anywhere between huge pages
    const Place mine = committed(pages, lead);
    const auto blob = mine.share();
    ASSERT_TRUE(blob) << blob.status().to_string();
    const auto other = opened(*blob, pages, lead);
    ASSERT_TRUE(other) << other.status().to_string();
    ASSERT_NE(other->chunk.base(), mine.chunk.base());
    const std::vector<std::byte> data = random_bytes(random, mine.chunk.bytes());
    std::memcpy(mine.chunk.base(), data.data(), data.size());
    EXPECT_EQ(std::memcmp(other->chunk.base(), data.data(), data.size()), 0);
    const std::size_t at = random() % data.size();
    other->chunk.base()[at] = ~data[at];
    EXPECT_EQ(mine.chunk.base()[at], ~data[at]);
  }
}

TEST(CpuShare, SharingTwiceGivesTheSameBlob) {
  const Place mine = committed(1);
  EXPECT_EQ(*mine.share(), *mine.share());
  EXPECT_NE(*mine.share(), *committed(1).share());
}

TEST(CpuShare, AForkedPeerSeesIt) {
  const Place mine = committed(300, 3);
  const auto blob = mine.share();
  ASSERT_TRUE(blob);
  std::memset(mine.chunk.base(), 0x5a, mine.chunk.bytes());
  Child peer([&](const Line&) -> bool {
    const auto place = opened(*blob, 300, 3);
    if (!expect(bool(place), place.status().to_string())) return false;
    bool well = true;
    for (std::size_t i = 0; i < place->chunk.bytes(); ++i) {
      well &= place->chunk.base()[i] == std::byte{0x5a};
    }
    std::memset(place->chunk.base(), 0xa5, place->chunk.bytes());
    return expect(well, "what the owner wrote");
  });
  EXPECT_TRUE(peer.wait());
  for (std::size_t i = 0; i < mine.chunk.bytes(); ++i) {
    ASSERT_EQ(mine.chunk.base()[i], std::byte{0xa5});
  }
}

TEST(CpuShare, AcrossPidNamespaces) {
  Child owner([](const Line& line) -> bool {
    if (::unshare(CLONE_NEWPID) != 0) {
      line.send(Blob(1));  // cannot
      return true;
    }
    Child inside([&](const Line&) -> bool { return own(line, 2, 77); });  // pid 1 of its namespace
    return inside.wait();
  });
  const Blob blob = owner.line().receive();
  if (blob.size() == 1) GTEST_SKIP() << "unshare(CLONE_NEWPID) is not allowed here";
  {
    const auto place = opened(blob, 2);
    ASSERT_TRUE(place) << place.status().to_string();
    EXPECT_EQ(place->chunk.base()[page()], std::byte{77});
  }
  owner.line().signal();
  EXPECT_TRUE(owner.wait());
}

TEST(CpuShare, NobodyIsAskedWhereProcShowsTheOwner) {
  Child owner([](const Line& line) -> bool { return own(line, 1, 9); });
  const Blob blob = owner.line().receive();
  owner.signal(SIGSTOP);
  const auto place = opened(blob, 1);
  owner.signal(SIGCONT);
  ASSERT_TRUE(place) << place.status().to_string();
  EXPECT_EQ(place->chunk.base()[0], std::byte{9});
  ASSERT_TRUE(opened(by_socket(blob), 1));
  owner.line().signal();
  EXPECT_TRUE(owner.wait());
}

TEST(CpuShare, ProcGivesNothingButTheMemoryOfThatName) {
  const Uuid name = random_uuid();
  const UniqueFd right = cpu::make_named_memory(name);
  const UniqueFd wrong = cpu::make_named_memory(random_uuid());
  const UniqueFd other(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(cpu::open_fd_of(::getpid(), right.get(), name));
  EXPECT_FALSE(cpu::open_fd_of(::getpid(), wrong.get(), name));
  EXPECT_FALSE(cpu::open_fd_of(::getpid(), other.get(), name));
  EXPECT_FALSE(cpu::open_fd_of(::getpid(), 1 << 20, name));
  EXPECT_FALSE(cpu::open_fd_of(1 << 30, right.get(), name));
  EXPECT_FALSE(cpu::open_fd_of(0, right.get(), name));
}

TEST(CpuShare, ADeadOwnerIsAnError) {
  Child owner([](const Line& line) -> bool { return own(line, 1, 1); });
  const Blob blob = owner.line().receive();
  owner.kill();
  const auto gone = opened(blob, 1);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.status().is(Code::kPeerLost));
  EXPECT_THAT(text(gone.status()), HasSubstr("The peer has ended"));
  EXPECT_THAT(text(gone.status()), HasSubstr("network namespace"));
}

TEST(CpuShare, OpenedMemoryOutlivesItsOwner) {
  Child owner([](const Line& line) -> bool { return own(line, 1, 42); });
  const Blob blob = owner.line().receive();
  const auto place = opened(blob, 1);
  ASSERT_TRUE(place) << place.status().to_string();
  owner.kill();
  EXPECT_EQ(place->chunk.base()[page() - 1], std::byte{42});
  place->chunk.base()[0] = std::byte{1};
}

TEST(CpuShare, AnOwnerThatEndsInTheMiddleIsAnError) {
  // A server that takes the ticket and dies instead of answering.
  const Uuid name = random_uuid();
  Child owner([&](const Line& line) -> bool {
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto at = cpu::abstract_address(name);
    ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes);
    ::listen(listener.get(), 5);
    line.signal();
    const UniqueFd fetcher(::accept(listener.get(), nullptr, nullptr));
    Uuid ticket;
    return ::recv(fetcher.get(), ticket.data(), ticket.size(), 0) == 16;
  });
  ASSERT_FALSE(owner.line().receive().empty());
  const auto gone = cpu::fetch_fd(name, random_uuid(), 60);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.status().is(Code::kPeerLost)) << gone.status().to_string();
  EXPECT_THAT(text(gone.status()), HasSubstr("ended meanwhile"));
  EXPECT_TRUE(owner.wait());
}

TEST(CpuShare, AStoppedOwnerIsATimeout) {
  const Uuid name = random_uuid();
  Child owner([&](const Line& line) -> bool {  // listens and never answers
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto at = cpu::abstract_address(name);
    ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes);
    ::listen(listener.get(), 0);
    line.signal();
    line.receive();
    return true;
  });
  ASSERT_FALSE(owner.line().receive().empty());
  for (int i = 0; i < 3; ++i) {  // the later ones may not even get into the backlog
    const auto late = cpu::fetch_fd(name, random_uuid(), 0.05);
    ASSERT_FALSE(late);
    EXPECT_TRUE(late.status().is(Code::kTimeout)) << late.status().to_string();
    EXPECT_THAT(text(late.status()), HasSubstr("does not answer"));
  }
}

TEST(CpuShare, AChunkThatIsGoneIsAnError) {
  const Place keeps_server = committed(1);
  ASSERT_TRUE(keeps_server.share());
  Blob blob;
  {
    const Place mine = committed(1);
    blob = *mine.share();
    EXPECT_TRUE(opened(blob, 1));
  }
  const auto gone = opened(blob, 1);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.status().is(Code::kInvalidArgument));
  EXPECT_THAT(text(gone.status()), HasSubstr("no longer has this chunk"));
}

TEST(CpuShare, OnlyTheRightBlobOpens) {
  const Place mine = committed(2);
  const Blob good = by_socket(*mine.share());
  ASSERT_TRUE(opened(good, 2));
  EXPECT_FALSE(opened(Blob(), 2));
  EXPECT_FALSE(opened(Blob(good.size()), 2));
  EXPECT_FALSE(opened(Blob(good.begin(), good.end() - 1), 2));
  for (std::size_t bit = 0; bit < 8 * 56; ++bit) {  // the others are hints
    Blob bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto refused = opened(bad, 2);
    ASSERT_FALSE(refused) << "bit " << bit;
    EXPECT_FALSE(text(refused.status()).empty());
  }
  const auto size = opened(good, 3);
  ASSERT_FALSE(size);
  EXPECT_THAT(text(size.status()), HasSubstr("has 8192 bytes and shall be mapped on 12288"));
  EXPECT_THAT(text(size.status()), HasSubstr("same WEFT_HEAP_SIZE"));
}

TEST(CpuShare, OnlyCommittedChunksCanBeShared) {
  const Place mine = committed(1);
  EXPECT_FALSE(cpu_platform().share(mine.reserved));
  EXPECT_FALSE(cpu_platform().share(Memory()));
  EXPECT_FALSE(cpu_platform().share(*cpu_platform().host_visible(page())));
  const auto other = opened(*mine.share(), 1);
  ASSERT_TRUE(other);
  const auto refused = cpu_platform().share(other->chunk);
  ASSERT_FALSE(refused);
  EXPECT_THAT(text(refused.status()), HasSubstr("its owner can"));
}

TEST(CpuShare, ACommitOverOpenedMemoryIsRefused) {
  const Place mine = committed(1);
  const auto other = opened(*mine.share(), 1);
  ASSERT_TRUE(other);
  EXPECT_FALSE(cpu_platform().commit(other->chunk.range(), kHints));
  EXPECT_FALSE(cpu_platform().open(*mine.share(), other->chunk.range()));
}

// --- another user ----------------------------------------------------------------------------

constexpr uid_t kNobody = 65534;

TEST(CpuShare, AnotherUserFindsOutBeforeTheTicketIsTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const Place mine = committed(1);
  const Blob blob = *mine.share();
  Child stranger([&](const Line&) -> bool {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return expect(false, "setresuid");
    const auto refused = opened(blob, 1);
    bool well = expect(!refused, "opened by another user");
    return well &
           expect(text(refused.status()).find("runs as user 0, this process as user 65534") !=
                      std::string::npos,
                  refused.status().to_string());
  });
  EXPECT_TRUE(stranger.wait());
}

TEST(CpuShare, TheServerRefusesAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto server = cpu::FdServer::get();
  ASSERT_TRUE(server);
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Uuid ticket = random_uuid();
  (*server)->offer(ticket, file.get());
  const Uuid name = (*server)->name();
  Child stranger([&](const Line&) -> bool {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return expect(false, "setresuid");
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto at = cpu::abstract_address(name);
    ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes);
    ::send(socket.get(), ticket.data(), ticket.size(), MSG_NOSIGNAL);
    cpu::FdAnswer answer{};
    return expect(::recv(socket.get(), &answer, sizeof answer, 0) <= 0, "an answer");
  });
  EXPECT_TRUE(stranger.wait());
  EXPECT_TRUE(cpu::fetch_fd(name, ticket, 60)) << "the right user still gets it";
  (*server)->withdraw(ticket);
}

TEST(CpuShare, ACrowdOfAnotherUserIsLoggedOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto server = cpu::FdServer::get();
  ASSERT_TRUE(server);
  const Place mine = committed(1);
  const Blob blob = by_socket(*mine.share());
  const Uuid name = (*server)->name();
  const CapturedLog log("warn");
  Child stranger([&](const Line&) -> bool {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return expect(false, "setresuid");
    const auto at = cpu::abstract_address(name);
    for (int i = 0; i < 500; ++i) {
      const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes);
      cpu::FdAnswer answer{};
      if (!expect(::recv(socket.get(), &answer, sizeof answer, 0) <= 0, "an answer")) return false;
    }
    return true;
  });
  EXPECT_TRUE(stranger.wait());
  EXPECT_TRUE(opened(blob, 1));
  const std::string lines = log.text();
  EXPECT_LE(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

// --- many, slow and rude fetchers ----------------------------------------------------------------

TEST(CpuShare, ManyAtOnce) {
  const Place mine = committed(1);
  mine.chunk.base()[0] = std::byte{3};
  const Blob blob = by_socket(*mine.share());
  std::vector<std::unique_ptr<Child>> peers;
  for (int i = 0; i < 16; ++i) {
    peers.push_back(std::make_unique<Child>([&](const Line& line) -> bool {
      line.receive();
      for (int again = 0; again < 10; ++again) {
        const auto place = opened(blob, 1);
        if (!expect(bool(place), place.status().to_string())) return false;
        if (!expect(place->chunk.base()[0] == std::byte{3}, "what was written")) return false;
      }
      return true;
    }));
  }
  for (const auto& peer : peers) peer->line().signal();
  for (const auto& peer : peers) EXPECT_TRUE(peer->wait());
}

TEST(CpuShare, SilentAndRudeConnectionsHoldUpNobody) {
  const auto server = cpu::FdServer::get();
  ASSERT_TRUE(server);
  const Place mine = committed(1);
  const Blob blob = by_socket(*mine.share());
  const auto at = cpu::abstract_address((*server)->name());
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 50; ++i) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes), 0);
    if (i % 3 == 1) ::send(socket.get(), "rude", 4, MSG_NOSIGNAL);
    if (i % 3 == 2) socket.reset();
    silent.push_back(std::move(socket));
  }
  EXPECT_TRUE(opened(blob, 1));
}

TEST(CpuShare, TheServerWaitsOutAWantOfDescriptors) {
  Child owner([](const Line& line) -> bool {
    Place mine = committed(1);
    const auto blob = mine.share();
    const std::size_t open = test::open_descriptors();
    const rlimit few{open - 1, 64 + open};
    ::setrlimit(RLIMIT_NOFILE, &few);  // the server cannot accept
    line.send(by_socket(*blob));
    line.receive();
    const rlimit enough{64 + open, 64 + open};
    ::setrlimit(RLIMIT_NOFILE, &enough);
    line.receive();
    return true;
  });
  const Blob blob = owner.line().receive();
  std::thread fetcher([&] { EXPECT_TRUE(opened(blob, 1)); });
  owner.line().signal();
  fetcher.join();
  owner.line().signal();
  EXPECT_TRUE(owner.wait());
}

TEST(CpuShare, AFetcherWithoutDescriptorsGetsAnError) {
  const Place mine = committed(1);
  const Blob blob = by_socket(*mine.share());
  Child peer([&](const Line&) -> bool {
    bool well = true;
    for (const rlim_t spare : {rlim_t{0}, rlim_t{1}}) {  // no socket; a socket and no more
      std::vector<UniqueFd> all;
      const rlimit few{64, 4096};
      ::setrlimit(RLIMIT_NOFILE, &few);
      for (int fd = ::dup(2); fd >= 0; fd = ::dup(2)) all.emplace_back(fd);
      for (rlim_t i = 0; i < spare; ++i) all.pop_back();
      const auto refused = opened(blob, 1);
      well &= expect(!refused, "opened without descriptors");
      well &= expect(text(refused.status()).find("ulimit -n") != std::string::npos,
                     refused.status().to_string());
    }
    return well && expect(bool(opened(blob, 1)), "with descriptors again");
  });
  EXPECT_TRUE(peer.wait());
}

// --- processes and their identity ------------------------------------------------------------

TEST(CpuShare, AChildHasAnIdentityAndAServerOfItsOwn) {
  const Place mine = committed(1);
  ASSERT_TRUE(mine.share());
  const Uuid here = process_uuid();
  EXPECT_EQ(process_uuid(), here);
  std::thread([&] { EXPECT_EQ(process_uuid(), here); }).join();
  const auto server = cpu::FdServer::get();
  ASSERT_TRUE(server);
  const Uuid parents = (*server)->name();
  Child child([&](const Line& line) -> bool {
    if (!expect(process_uuid() != here, "the parent's identity")) return false;
    if (kTsan) {  // which cannot start threads here
      line.signal();
      return true;
    }
    const auto other = cpu::FdServer::get();
    if (!expect(bool(other) && (*other)->name() != parents, "the parent's server")) return false;
    return own(line, 1, 5);
  });
  const Blob blob = child.line().receive();
  if (!kTsan) {
    const auto place = opened(blob, 1);
    ASSERT_TRUE(place) << place.status().to_string();
    EXPECT_EQ(place->chunk.base()[0], std::byte{5});
  }
  child.line().signal();
  EXPECT_TRUE(child.wait());
  EXPECT_TRUE(opened(*mine.share(), 1)) << "the child's end has not touched the parent's server";
}

TEST(CpuShare, IdentitiesDiffer) {
  EXPECT_NE(random_uuid(), random_uuid());
  EXPECT_NE(random_uuid(), Uuid());
}

TEST(CpuShare, NothingStaysOpen) {
  const auto round = [] {
    const Place mine = committed(2);
    const Blob blob = *mine.share();
    EXPECT_TRUE(opened(blob, 2));
    EXPECT_FALSE(opened(blob, 1));
  };
  round();
  const std::size_t descriptors = test::open_descriptors();
  const std::size_t maps = test::mappings();
  for (int i = 0; i < 60; ++i) round();
  EXPECT_EQ(test::open_descriptors(), descriptors);
  if (!kTsan) {  // which maps something for each new thread
    EXPECT_LT(test::mappings(), maps + 30) << "less than one for two rounds";
  }
}

}  // namespace
}  // namespace weft
