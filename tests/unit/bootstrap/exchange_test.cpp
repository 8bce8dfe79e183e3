// Allgather and barrier in rounds: all PEs' sides in one thread, payloads handed over in any order.
#include "bootstrap/tcp/exchange.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "bootstrap/tcp/seal.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::tcp {
namespace {

constexpr Call kAllgather{Rendezvous::Call::kAllgather, 1};
constexpr Call kBarrier{Rendezvous::Call::kBarrier, 1};
constexpr std::size_t kCallBytes = 9;

struct Traffic {
  std::size_t frames = 0;
  std::size_t bytes = 0;
};

// Lets PEs act in random order until nobody can. The frames and bytes that each has
// sent are added up.
std::vector<Traffic> run(std::vector<Exchange>& pes, std::mt19937_64& random) {
  const int npes = static_cast<int>(pes.size());
  std::vector<Traffic> traffic(pes.size());
  std::vector<std::vector<std::deque<net::Bytes>>> inbox(
      pes.size(), std::vector<std::deque<net::Bytes>>(pes[0].rounds()));
  std::vector<int> acting(pes.size());
  for (int pe = 0; pe < npes; ++pe) acting[pe] = pe;
  for (bool moved = true; moved;) {
    moved = false;
    std::shuffle(acting.begin(), acting.end(), random);
    for (const int pe : acting) {
      Exchange& self = pes[pe];
      if (self.can_send()) {
        const int round = self.sent();
        net::Bytes payload = self.send();
        traffic[pe].frames += 1;
        traffic[pe].bytes += payload.size();
        inbox[behind(pe, npes, round)][round].push_back(std::move(payload));
        moved = true;
      }
      if (self.received() == self.rounds()) continue;
      auto& next = inbox[pe][self.received()];
      if (next.empty()) continue;
      EXPECT_OK(self.take(next.front()));
      next.pop_front();
      moved = true;
    }
  }
  return traffic;
}

TEST(Exchange, RoundsAreTheLogarithm) {
  EXPECT_EQ(rounds_of(1), 0);
  EXPECT_EQ(rounds_of(2), 1);
  EXPECT_EQ(rounds_of(3), 2);
  EXPECT_EQ(rounds_of(4096), 12);
  EXPECT_EQ(rounds_of(4097), 13);
}

TEST(Exchange, WhomAPeSendsToReceivesFromIt) {
  for (const int npes : {2, 3, 7, 64, 100}) {
    for (int pe = 0; pe < npes; ++pe) {
      for (int round = 0; round < rounds_of(npes); ++round) {
        EXPECT_EQ(ahead(behind(pe, npes, round), npes, round), pe);
      }
    }
  }
}

TEST(Exchange, EverybodyGetsEverythingForTheBytesThatTheHeaderPromises) {
  std::mt19937_64 random(test_seed());
  for (const int npes : {1, 2, 3, 4, 5, 8, 13, 31, 64, 100}) {
    const std::size_t each = random() % 50;
    std::vector<Blob> all;
    std::vector<Exchange> pes;
    for (int pe = 0; pe < npes; ++pe) {
      all.push_back(random_bytes(random, each));
      pes.emplace_back(pe, npes, kAllgather, all.back());
    }
    const auto traffic = run(pes, random);
    for (int pe = 0; pe < npes; ++pe) {
      ASSERT_TRUE(pes[pe].complete()) << pe << " of " << npes;
      EXPECT_EQ(pes[pe].gathered(), all);
      const auto rounds = static_cast<std::size_t>(rounds_of(npes));
      EXPECT_EQ(traffic[pe].frames, rounds);
      EXPECT_EQ(traffic[pe].bytes, rounds * kCallBytes + (npes - 1) * (8 + each));
    }
  }
}

TEST(Exchange, SizesMayDiffer) {
  std::mt19937_64 random(test_seed());
  std::vector<Blob> all;
  std::vector<Exchange> pes;
  for (int pe = 0; pe < 11; ++pe) {
    all.push_back(random_bytes(random, random() % 3 == 0 ? 0 : random() % 5000));
    pes.emplace_back(pe, 11, kAllgather, all.back());
  }
  run(pes, random);
  for (const Exchange& pe : pes) EXPECT_EQ(pe.gathered(), all);
}

TEST(Exchange, NobodyPassesABarrierBeforeTheLastHasCome) {
  std::mt19937_64 random(test_seed());
  for (const int npes : {2, 3, 6, 16, 33}) {
    std::vector<Exchange> pes;
    for (int pe = 0; pe < npes; ++pe) pes.emplace_back(pe, npes, kBarrier, Blob());
    // The last PE never acts.
    for (int round = 0; round < rounds_of(npes); ++round) {
      for (int pe = 0; pe + 1 < npes; ++pe) {
        if (!pes[pe].can_send()) continue;
        const int at = pes[pe].sent();
        const net::Bytes payload = pes[pe].send();
        const int to = behind(pe, npes, at);
        if (to + 1 < npes && pes[to].received() == at) EXPECT_OK(pes[to].take(payload));
      }
    }
    for (int pe = 0; pe + 1 < npes; ++pe) EXPECT_FALSE(pes[pe].complete()) << pe << " of " << npes;
    std::vector<Exchange> all;
    for (int pe = 0; pe < npes; ++pe) all.emplace_back(pe, npes, kBarrier, Blob());
    for (const Traffic& traffic : run(all, random)) {
      EXPECT_EQ(traffic.bytes, rounds_of(npes) * kCallBytes);
    }
    for (const Exchange& pe : all) EXPECT_TRUE(pe.complete());
  }
}

TEST(Exchange, AnotherCallAndMalformedBlocksAreErrors) {
  const Blob mine(4);
  Exchange self(0, 2, kAllgather, mine);
  EXPECT_CODE(self.take(Exchange(1, 2, kBarrier, {}).send()), Code::kInvalidArgument);
  EXPECT_CODE(self.take(Exchange(1, 2, {Rendezvous::Call::kAllgather, 2}, mine).send()),
              Code::kInvalidArgument);
  net::Bytes good = Exchange(1, 2, kAllgather, mine).send();
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_CODE(Exchange(0, 2, kAllgather, mine).take(std::span(good).first(cut)), Code::kIo);
  }
  net::Bytes more = good;
  more.push_back(std::byte{0});
  EXPECT_CODE(Exchange(0, 2, kAllgather, mine).take(more), Code::kIo);
  EXPECT_OK(self.take(good));
}

// The values of the authors' reference implementation (vectors_sip128: key 00..0f, message 00..).
TEST(Seal, TheHashIsSipHash) {
  Secret key{};
  net::Bytes message;
  for (unsigned i = 0; i < 16; ++i) key[i] = static_cast<std::byte>(i);
  EXPECT_EQ(to_hex(siphash(key, message)), "a3817f04ba25a8e66df67214c7550293");
  message.push_back(std::byte{0});
  EXPECT_EQ(to_hex(siphash(key, message)), "da87c1d86b99af44347659119b22fc45");
  for (unsigned i = 1; i < 15; ++i) message.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(to_hex(siphash(key, message)), "5493e99933b0a8117e08ec0f97cfc3d9");
}

TEST(Seal, OpensOnlyAsItWasMade) {
  const Secret secret = *random_bits();
  const Nonces nonces{*random_bits(), *random_bits()};
  const net::Bytes words(20, std::byte{7});
  const net::Bytes sealed = seal(secret, "a", nonces, words);
  const auto opened = open_seal(secret, "a", nonces, sealed);
  ASSERT_OK(opened);
  EXPECT_EQ(net::Bytes(opened->begin(), opened->end()), words);
  EXPECT_CODE(open_seal(*random_bits(), "a", nonces, sealed), Code::kInvalidArgument);
  EXPECT_CODE(open_seal(secret, "b", nonces, sealed), Code::kInvalidArgument);
  EXPECT_CODE(open_seal(secret, "a", {nonces.callee, nonces.caller}, sealed),
              Code::kInvalidArgument);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    net::Bytes changed = sealed;
    changed[i] ^= std::byte{1};
    EXPECT_CODE(open_seal(secret, "a", nonces, changed), Code::kInvalidArgument) << i;
    EXPECT_CODE(open_seal(secret, "a", nonces, std::span(sealed).first(i)), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace weft::tcp
