// The promises of every Transport, whatever carries the bytes and whatever the fault injector does
// to them within its freedom: PEs as threads and as processes, loopback, p2p, staged, ib and ofi,
// plain and late, delayed, doubled and refused.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/transport_job.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSignals = 0;       // a word per PE and purpose
constexpr std::uint64_t kShares = 1 << 14;  // then a share per source PE
constexpr std::uint64_t kShareBytes = 1 << 17;
constexpr std::size_t kSizes[] = {0,  1,  2,  3,  4,   5,    7,    8,    9,     12,   16,
                                  17, 31, 64, 65, 255, 1000, 4096, 4097, 65536, 99999};

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }
std::uint64_t share(int source) {
  return kShares + static_cast<std::uint64_t>(source) * kShareBytes;
}

// Byte i of what `from` sends to `to` in a round: known to both, and not to be had by accident.
std::byte pattern(std::uint64_t round, int from, int to, std::size_t i) {
  std::uint64_t x = test_seed() ^ (round << 40) ^ (static_cast<std::uint64_t>(from) << 34) ^
                    (static_cast<std::uint64_t>(to) << 28) ^ i;
  x *= 0x9e3779b97f4a7c15u;
  return static_cast<std::byte>(x >> 56);
}
std::vector<std::byte> patterns(std::uint64_t round, int from, int to, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = pattern(round, from, to, i);
  return out;
}

Op put(int pe, std::uint64_t remote, const void* source, std::size_t bytes) {
  Op op;
  op.kind = OpKind::kPut;
  op.pe = static_cast<std::uint32_t>(pe);
  op.remote = remote;
  op.local = address(source);
  op.bytes = bytes;
  return op;
}
Op get(int pe, std::uint64_t remote, void* target, std::size_t bytes) {
  Op op = put(pe, remote, target, bytes);
  op.kind = OpKind::kGet;
  return op;
}
Op amo(OpKind kind, int pe, std::uint64_t remote, std::uint8_t width, std::uint64_t value) {
  Op op;
  op.kind = kind;
  op.pe = static_cast<std::uint32_t>(pe);
  op.remote = remote;
  op.width = width;
  op.value = value;
  return op;
}
Op with_notify(const Op& plain, NotifyOp notify, std::uint64_t signal, std::uint64_t value) {
  Op op = plain;
  op.notify = notify;
  op.signal = signal;
  op.value = value;
  return op;
}
Op fence(std::uint32_t pe) {
  Op op;
  op.kind = OpKind::kFence;
  op.pe = pe;
  return op;
}

class TransportTest : public ::testing::TestWithParam<TransportJob> {
 protected:
  void run(const std::function<void(TransportPe&)>& body) { run_job(GetParam(), body); }
};
class LateTransportTest : public TransportTest {};  // unfenced puts are held back

void poison(TransportPe& me) { std::memset(me.heap() + kShares, 0xa5, 4 * kShareBytes); }

// My heap holds exactly what the others sent there, and poison around it.
void expect_shares(TransportPe& me, std::uint64_t round, std::size_t skew, std::size_t bytes) {
  for (int from = 0; from < me.npes(); ++from) {
    const std::byte* at = me.heap() + share(from);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < skew; ++i) wrong += at[i] != std::byte{0xa5};
    for (std::size_t i = 0; i < bytes; ++i)
      wrong += at[skew + i] != pattern(round, from, me.pe(), i);
    for (std::size_t i = skew + bytes; i < skew + bytes + 64; ++i)
      wrong += at[i] != std::byte{0xa5};
    EXPECT_EQ(wrong, 0u) << bytes << " bytes at skew " << skew << " from " << from << " to "
                         << me.pe();
  }
}

TEST_P(TransportTest, PutsOfEverySizeArriveAndTheSourceMayBeReused) {
  run([](TransportPe& me) {
    std::uint64_t round = 0;
    for (const std::size_t bytes : kSizes) {
      const std::size_t skew = (test_seed() + round) % 9;
      poison(me);
      me.barrier();
      for (int to = 0; to < me.npes(); ++to) {
        std::vector<std::byte> source = patterns(round, me.pe(), to, bytes);
        me.post(put(to, share(me.pe()) + skew, source.data(), bytes));
        std::fill(source.begin(), source.end(), std::byte{0xee});
      }
      me.quiet_and_barrier();
      expect_shares(me, round, skew, bytes);
      me.barrier();
      ++round;
    }
  });
}

TEST_P(TransportTest, PutsWhoseSourceStaysArrive) {
  run([](TransportPe& me) {
    for (std::uint64_t round = 0; round < 5; ++round) {
      const std::size_t bytes = kSizes[(test_seed() + 7 * round) % std::size(kSizes)];
      poison(me);
      me.barrier();
      std::vector<std::vector<std::byte>> sources;
      for (int to = 0; to < me.npes(); ++to) {
        sources.push_back(patterns(round, me.pe(), to, bytes));
        Op op = put(to, share(me.pe()), sources.back().data(), bytes);
        op.flags |= kOpSourceStays;
        me.post(op);
      }
      me.quiet_and_barrier();
      expect_shares(me, round, 0, bytes);
      me.barrier();
    }
  });
}

TEST_P(TransportTest, GetsOfEverySizeBringTheirBytesAndNoOthers) {
  run([](TransportPe& me) {
    for (int to = 0; to < me.npes(); ++to) {
      const auto bytes = patterns(1, me.pe(), to, kShareBytes);
      std::memcpy(me.heap() + share(to), bytes.data(), bytes.size());
    }
    me.barrier();
    for (const std::size_t bytes : kSizes) {
      const std::size_t skew = (test_seed() + bytes) % 9;
      std::vector<std::vector<std::byte>> targets;
      for (int from = 0; from < me.npes(); ++from) {
        targets.emplace_back(bytes + 2, std::byte{0x5a});
        me.post(get(from, share(me.pe()) + skew, targets.back().data() + 1, bytes));
      }
      me.quiet();
      for (int from = 0; from < me.npes(); ++from) {
        const auto& target = targets[static_cast<std::size_t>(from)];
        EXPECT_EQ(target.front(), std::byte{0x5a});
        EXPECT_EQ(target.back(), std::byte{0x5a});
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < bytes; ++i)
          wrong += target[1 + i] != pattern(1, from, me.pe(), skew + i);
        EXPECT_EQ(wrong, 0u) << bytes << " bytes from " << from;
      }
    }
    me.barrier();
  });
}

std::uint64_t model(OpKind kind, std::uint64_t old, std::uint64_t value, std::uint64_t compare) {
  switch (kind) {
    case OpKind::kAmoSet:
    case OpKind::kAmoSwap: return value;
    case OpKind::kAmoAdd:
    case OpKind::kAmoFetchAdd: return old + value;
    case OpKind::kAmoAnd:
    case OpKind::kAmoFetchAnd: return old & value;
    case OpKind::kAmoOr:
    case OpKind::kAmoFetchOr: return old | value;
    case OpKind::kAmoXor:
    case OpKind::kAmoFetchXor: return old ^ value;
    case OpKind::kAmoCompareSwap: return old == compare ? value : old;
    default: return old;
  }
}

TEST_P(TransportTest, EveryAtomicOfBothWidthsDoesWhatItSays) {
  run([](TransportPe& me) {
    std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(me.pe()));
    for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
      const std::uint64_t mask = width == 4 ? 0xffffffffu : ~std::uint64_t{0};
      for (int to = 0; to < me.npes(); ++to) {
        const std::uint64_t at = share(me.pe()) + 64;
        std::uint64_t word = 0;
        me.post(amo(OpKind::kAmoSet, to, at, width, 0));
        me.quiet();
        for (int step = 0; step < 60; ++step) {
          const int kinds =
              static_cast<int>(OpKind::kAmoFetchXor) - static_cast<int>(OpKind::kAmoSet) + 1;
          const auto kind = static_cast<OpKind>(static_cast<int>(OpKind::kAmoSet) + step % kinds);
          std::uint64_t result[2] = {0x7777777777777777, 0x7777777777777777};
          Op op = amo(kind, to, at, width, random());
          op.compare = step % 2 == 0 ? word : random();
          op.result = address(result);
          me.post(op);
          me.quiet();
          std::uint64_t wanted[2] = {0x7777777777777777, 0x7777777777777777};
          if (is_fetching(kind)) std::memcpy(wanted, &word, width);
          EXPECT_EQ(std::memcmp(result, wanted, sizeof(result)), 0) << static_cast<int>(kind);
          word = model(kind, word, op.value & mask, op.compare & mask) & mask;
        }
        std::uint64_t now = 0;
        me.post(get(to, at, &now, width));
        me.quiet();
        EXPECT_EQ(now, word) << "width " << int{width};
      }
    }
    me.barrier();
  });
}

TEST_P(TransportTest, AtomicsOfAllPesLoseNothing) {
  run([](TransportPe& me) {
    constexpr int kAdds = 200;
    std::memset(me.heap(), 0, 64);
    me.barrier();
    std::vector<std::uint64_t> olds(kAdds, ~std::uint64_t{0});
    for (int i = 0; i < kAdds; ++i) {
      me.post(amo(OpKind::kAmoAdd, 0, 8, 8, 3));
      me.post(amo(OpKind::kAmoAdd, 0, 16, 4, 1));
      Op op = amo(OpKind::kAmoFetchAdd, 0, 24, 8, 1);
      op.result = address(&olds[static_cast<std::size_t>(i)]);
      me.post(op);
      me.post(with_notify(put(0, 0, nullptr, 0), NotifyOp::kAdd, 32, 1));
    }
    me.quiet_and_barrier();
    const auto total = static_cast<std::uint64_t>(kAdds * me.npes());
    for (const std::uint64_t old : olds) EXPECT_LT(old, total);
    std::sort(olds.begin(), olds.end());
    EXPECT_EQ(std::adjacent_find(olds.begin(), olds.end()), olds.end()) << "a number came twice";
    if (me.pe() == 0) {
      EXPECT_EQ(*me.word(8), 3 * total);
      EXPECT_EQ(*me.word(16), total);
      EXPECT_EQ(*me.word(24), total);
      EXPECT_EQ(*me.word(32), total);
    }
    me.barrier();
  });
}

// A ring of puts with notify, never quiet: the signal alone says that the data is there, and it
// comes by progress alone.
TEST_P(TransportTest, WhoSeesTheNotifySeesTheData) {
  run([](TransportPe& me) {
    const int right = (me.pe() + 1) % me.npes();
    const int left = (me.pe() + me.npes() - 1) % me.npes();
    std::memset(me.heap() + kSignals, 0, 64);
    me.barrier();
    for (std::uint64_t round = 1; round <= 30; ++round) {
      const std::size_t bytes = kSizes[(test_seed() + 5 * round) % std::size(kSizes)];
      const std::vector<std::byte> source = patterns(round, me.pe(), right, bytes);
      const bool set = round % 2 == 0;
      me.post(with_notify(put(right, share(me.pe()) + round % 3, source.data(), bytes),
                          set ? NotifyOp::kSet : NotifyOp::kAdd, kSignals, set ? round : 1));
      me.wait_for(kSignals, round);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < bytes; ++i)
        wrong += me.heap()[share(left) + round % 3 + i] != pattern(round, left, me.pe(), i);
      EXPECT_EQ(wrong, 0u) << bytes << " bytes in round " << round;
      // I have read it: the left one may write again.
      me.post(with_notify(put(left, 0, nullptr, 0), NotifyOp::kSet, kSignals + 8, round));
      me.wait_for(kSignals + 8, round);
    }
    me.quiet_and_barrier();
  });
}

// Many puts, a fence, one flag: as a word that is put, as an atomic, as a notify.
void fenced_rounds(TransportPe& me, bool to_all) {
  const int right = (me.pe() + 1) % me.npes();
  const int left = (me.pe() + me.npes() - 1) % me.npes();
  std::memset(me.heap() + kSignals, 0, 64);
  me.barrier();
  for (std::uint64_t round = 1; round <= 30; ++round) {
    constexpr int kPuts = 5;
    for (int i = 0; i < kPuts; ++i) {
      const auto source =
          patterns(round * kPuts + static_cast<std::uint64_t>(i), me.pe(), right, 40);
      me.post(put(right, share(me.pe()) + 40 * static_cast<std::uint64_t>(i), source.data(), 40));
    }
    me.post(fence(to_all ? kAllPes : static_cast<std::uint32_t>(right)));
    if (round % 3 == 0) me.post(amo(OpKind::kAmoSet, right, kSignals, 8, round));
    if (round % 3 == 1) me.post(amo(OpKind::kAmoAdd, right, kSignals, 8, 1));
    if (round % 3 == 2)
      me.post(with_notify(put(right, 0, nullptr, 0), NotifyOp::kSet, kSignals, round));
    me.wait_for(kSignals, round);
    std::size_t wrong = 0;
    for (int i = 0; i < kPuts; ++i)
      for (std::size_t b = 0; b < 40; ++b)
        wrong += me.heap()[share(left) + 40 * static_cast<std::uint64_t>(i) + b] !=
                 pattern(round * kPuts + static_cast<std::uint64_t>(i), left, me.pe(), b);
    EXPECT_EQ(wrong, 0u) << "round " << round;
    me.post(with_notify(put(left, 0, nullptr, 0), NotifyOp::kSet, kSignals + 8, round));
    me.wait_for(kSignals + 8, round);
  }
  me.quiet_and_barrier();
}
TEST_P(TransportTest, AFenceOrdersWhatComesAfterItBehindWhatCameBefore) {
  run([](TransportPe& me) { fenced_rounds(me, false); });
}
TEST_P(TransportTest, AFenceToAllOrdersEveryPe) {
  run([](TransportPe& me) { fenced_rounds(me, true); });
}

// A word put behind a fence is a flag, once somebody lets it go.
TEST_P(TransportTest, AFencedWordIsAFlag) {
  run([](TransportPe& me) {
    const int right = (me.pe() + 1) % me.npes();
    const int left = (me.pe() + me.npes() - 1) % me.npes();
    std::memset(me.heap() + kSignals, 0, 64);
    me.barrier();
    for (std::uint64_t round = 1; round <= 30; ++round) {
      const auto source = patterns(round, me.pe(), right, 333);
      me.post(put(right, share(me.pe()), source.data(), 333));
      me.post(fence(static_cast<std::uint32_t>(right)));
      me.post(put(right, kSignals, &round, 8));
      me.queue().flush();
      me.wait_for(kSignals, round);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < 333; ++i)
        wrong += me.heap()[share(left) + i] != pattern(round, left, me.pe(), i);
      EXPECT_EQ(wrong, 0u) << "round " << round;
      me.quiet_and_barrier();
    }
  });
}

// The checker of the checker: a program that forgets its fence is caught by late delivery, and by
// nothing else that is deterministic.
TEST_P(LateTransportTest, AForgottenFenceShows) {
  run([](TransportPe& me) {
    const int right = (me.pe() + 1) % me.npes();
    std::memset(me.heap(), 0, 128);
    me.barrier();
    const std::uint64_t data = 42;
    me.post(put(right, 64, &data, 8));
    me.post(amo(OpKind::kAmoSet, right, kSignals, 8, 1));
    me.wait_for(kSignals, 1);
    EXPECT_EQ(__atomic_load_n(me.word(64), __ATOMIC_ACQUIRE), 0u) << "the put was not held back";
    me.post(amo(OpKind::kAmoSet, (me.pe() + me.npes() - 1) % me.npes(), kSignals + 8, 8, 1));
    me.wait_for(kSignals + 8, 1);  // the right one has looked
    me.quiet_and_barrier();
    EXPECT_EQ(*me.word(64), 42u);
  });
}

TEST_P(TransportTest, CompletionIsCountedInOrderAndExactly) {
  run([](TransportPe& me) {
    std::vector<LaneQueue::Ticket> tickets;
    const std::uint64_t value = 7;
    for (int i = 0; i < 100; ++i) {
      const int to = (me.pe() + i) % me.npes();
      LaneQueue::Ticket ticket;
      const Op op = i % 10 == 9
                        ? fence(static_cast<std::uint32_t>(to))
                        : put(to, share(me.pe()) + 8 * static_cast<std::uint64_t>(i), &value, 8);
      while (me.queue().post(op, &ticket).is(Code::kBusy)) {
        me.queue().progress();
        std::this_thread::yield();
      }
      tickets.push_back(ticket);
      // Whatever is done was done in order.
      for (std::size_t a = 0; a < tickets.size(); ++a)
        for (std::size_t b = a + 1; b < tickets.size(); ++b)
          EXPECT_TRUE(tickets[a].transport != tickets[b].transport ||
                      !me.queue().done(tickets[b]) || me.queue().done(tickets[a]));
    }
    me.quiet();
    for (const auto& ticket : tickets) EXPECT_TRUE(me.queue().done(ticket));
    EXPECT_EQ(me.queue().outstanding(), 0u);
    std::uint64_t completed = 0;
    for (const auto& transport : me.routes().transports)
      completed += transport->completed(me.queue().lane());
    EXPECT_EQ(completed, 100u);
    me.barrier();
  });
}

TEST_P(TransportTest, LanesAreCountedApart) {
  run([](TransportPe& me) {
    LaneQueue other(me.routes(), device_lane(1));
    const std::uint64_t value = 1;
    me.post(put(0, share(me.pe()), &value, 8));
    EXPECT_TRUE(other.all_done());
    me.quiet_and_barrier();
  });
}

// Refused with a text, not counted, and the lane goes on.
TEST_P(TransportTest, ABadOpIsRefusedAndTheLaneGoesOn) {
  run([](TransportPe& me) {
    const std::uint64_t value = 5;
    const auto refused = [&](const Op& op, Code code, const std::string& text) {
      Status status;
      do status = me.queue().post(op);
      while (status.is(Code::kBusy));
      EXPECT_CODE(status, code);
      EXPECT_THAT(std::string(status.text()), HasSubstr(text));
    };
    const int to = (me.pe() + 1) % me.npes();
    refused(put(me.npes(), 0, &value, 8), Code::kOutOfRange, "does not exist");
    refused(put(to, me.committed() - 7, &value, 8), Code::kOutOfRange,
            "8 bytes at offset 0x1ffff9");
    refused(put(to, ~std::uint64_t{0}, &value, 8), Code::kOutOfRange, "0xffffffffffffffff");
    refused(put(to, 0, &value, ~std::uint64_t{0}), Code::kOutOfRange, "18446744073709551615");
    refused(put(to, 0, nullptr, 8), Code::kInvalidArgument, "null");
    refused(get(to, 0, nullptr, 8), Code::kInvalidArgument, "null");
    refused(with_notify(put(to, 0, &value, 8), NotifyOp::kSet, 4, 1), Code::kInvalidArgument,
            "multiple of 8");
    refused(amo(OpKind::kAmoAdd, to, 4, 8, 1), Code::kInvalidArgument, "multiple");
    refused(amo(OpKind::kAmoAdd, to, 4, 2, 1), Code::kInvalidArgument, "4 or 8 bytes");
    refused(amo(OpKind::kAmoFetch, to, 8, 8, 1), Code::kInvalidArgument, "null");
    refused(amo(static_cast<OpKind>(99), to, 8, 8, 1), Code::kInvalidArgument, "kind 99");
    EXPECT_TRUE(me.queue().all_done());
    me.barrier();
    me.post(put(to, share(me.pe()), &value, 8));
    me.quiet_and_barrier();
    const int from = (me.pe() + me.npes() - 1) % me.npes();
    EXPECT_EQ(*me.word(share(from)), 5u);
    me.barrier();
  });
}

TEST_P(TransportTest, AGrownHeapIsReachedAndItsOldPartStays) {
  run([](TransportPe& me) {
    const int right = (me.pe() + 1) % me.npes();
    const int left = (me.pe() + me.npes() - 1) % me.npes();
    for (int chunks = 1; chunks <= 3; ++chunks) {
      // Across the seam of two chunks, too: peer address = base + offset, for ever.
      const std::uint64_t at = me.committed() - TransportPe::kChunk - (chunks > 1 ? 50 : 0) +
                               (chunks == 1 ? kShares : 0);
      const auto round = static_cast<std::uint64_t>(chunks);
      const auto source = patterns(round, me.pe(), right, 101);
      me.post(put(right, at, source.data(), 101));
      me.quiet_and_barrier();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < 101; ++i)
        wrong += me.heap()[at + i] != pattern(round, left, me.pe(), i);
      EXPECT_EQ(wrong, 0u) << chunks << " chunks";
      std::vector<std::byte> back(101);
      me.post(get(right, at, back.data(), 101));
      me.quiet();
      EXPECT_EQ(back, source);
      me.barrier();
      EXPECT_OK(me.grow());
    }
  });
}

// Whatever ways its pieces take, and whatever the next one overwrites.
TEST_P(TransportTest, ALargePutIsThereWhenItsSignalIs) {
  run([](TransportPe& me) {
    constexpr std::size_t kBytes = 600'001;
    constexpr std::uint64_t kThere = 64, kTaken = 72, kAt = std::uint64_t{1} << 19;
    const int right = (me.pe() + 1) % me.npes();
    const int left = (me.pe() + me.npes() - 1) % me.npes();
    *me.word(kThere) = *me.word(kTaken) = 0;
    me.barrier();
    for (std::uint64_t round = 1; round <= 4; ++round) {
      const std::vector<std::byte> source = patterns(round, me.pe(), right, kBytes);
      me.post(with_notify(put(right, kAt, source.data(), kBytes), NotifyOp::kSet, kThere, round));
      me.queue().flush();
      me.wait_for(kThere, round);
      const bool same =
          std::memcmp(me.heap() + kAt, patterns(round, left, me.pe(), kBytes).data(), kBytes) == 0;
      EXPECT_TRUE(same) << "round " << round;
      me.post(with_notify(put(left, 0, nullptr, 0), NotifyOp::kSet, kTaken, round));
      me.queue().flush();
      me.wait_for(kTaken, round);
      std::vector<std::byte> back(kBytes);
      me.post(get(right, kAt, back.data(), kBytes));
      me.quiet_and_barrier();
      EXPECT_TRUE(back == source) << "round " << round;
    }
  });
}

TEST_P(TransportTest, APeerIsMappedUnlessFarOrStagedOrFaultsAreInjected) {
  const bool apart = !GetParam().fault.empty() || GetParam().on_gpus;
  const bool launched = GetParam().pes == PesAre::kLaunched;
  run([apart, launched, network = GetParam().network()](TransportPe& me) {
    for (int pe = 0; pe < me.npes(); ++pe) {
      const Transport& transport = me.routes().transport(pe);
      const bool far = transport.name() == "ib" || transport.name() == "ofi";
      const bool by_network = launched ? far : !network.empty() && pe != me.pe();
      const bool unmapped = apart || by_network;
      EXPECT_TRUE(transport.reaches(pe)) << transport.why_not(pe);
      EXPECT_EQ(transport.why_not(pe), "");
      EXPECT_EQ(transport.caps().maps, !unmapped);
      EXPECT_EQ(me.routes().peer[static_cast<std::size_t>(pe)] == nullptr, unmapped);
    }
    std::byte* mine = me.routes().peer[static_cast<std::size_t>(me.pe())];
    EXPECT_EQ(mine, apart ? nullptr : me.heap());
  });
}

// The jobs of a fault, whose name is the tail of theirs.
std::vector<TransportJob> jobs_here(const std::string& tail, const std::string& spec) {
  using enum PesAre;
  if (is_launched())
    return {
        {"ib_launched" + tail, kLaunched, 0, "ib,loopback", spec},
        {"mixed_launched" + tail, kLaunched, 0, "p2p,ib,loopback", spec},
        {"nic_launched" + tail, kLaunched, 0, "p2p,ib,loopback", spec, "", false, "auto", "nic"},
        {"ofi_launched" + tail, kLaunched, 0, "ofi,loopback", spec},
        {"ofi_mixed_launched" + tail, kLaunched, 0, "p2p,ofi,loopback", spec},
        {"ofi_gpus_launched" + tail, kLaunched, 0, "ofi,staged", spec, "", true}};
  std::vector<TransportJob> all = {
      {"loopback" + tail, kThreads, 1, "loopback", spec},
      {"p2p_threads" + tail, kThreads, 3, "p2p,loopback", spec},
      {"p2p_processes" + tail, kProcesses, 3, "p2p,loopback", spec},
      {"staged_threads" + tail, kThreads, 3, "staged", spec, "", true},
      {"staged_processes" + tail, kProcesses, 3, "staged", spec, "", true},
  };
#ifdef FAKE_VERBS_LIBRARY
  const bool plain_or_all = tail.empty() || tail == "_all";
  all.push_back({"ib_threads" + tail, kThreads, 3, "ib,loopback", spec});
  for (const std::string way : {"ib", "p2p"})  // by which PEs reach each other but for atomics
    all.push_back({way + "_nic" + tail, kThreads, 3,
                   way == "ib" ? "ib,loopback" : "p2p,ib,loopback", spec, "", false, "auto",
                   "nic"});
  if (plain_or_all && !has_rdma()) {
    all.push_back({"ib_glob" + tail, kThreads, 3, "ib,loopback", spec, "", false, "auto", "glob"});
    all.push_back(
        {"ib_rails" + tail, kThreads, 3, "ib,loopback", spec, "", false, "auto", "rails"});
    all.push_back(
        {"nic_rails" + tail, kThreads, 3, "ib,loopback", spec, "", false, "auto", "nic,rails"});
    // Memory of GPUs; a PE reaches itself by staged.
    for (const std::string way : {"staged", "peer", "dmabuf"})
      all.push_back({"ib_" + way + tail, kThreads, 3, "ib,staged", spec, "", true, way});
    all.push_back(
        {"ib_staged_rails" + tail, kThreads, 3, "ib,staged", spec, "", true, "staged", "rails"});
  }
  if (has_rdma()) all.push_back({"ib_processes" + tail, kProcesses, 3, "ib,loopback", spec});
#endif
#ifdef FAULTY_FABRIC_LIBRARY
  all.push_back({"ofi_threads" + tail, kThreads, 3, "ofi,loopback", spec});
  all.push_back({"ofi_processes" + tail, kProcesses, 3, "ofi,loopback", spec});
  if (!tail.empty() && tail != "_all") return all;
  all.push_back(
      {"ofi_unordered" + tail, kThreads, 3, "ofi,loopback", spec, "unordered,offload,busy"});
  all.push_back({"ofi_strict" + tail, kThreads, 3, "ofi,loopback", spec, "strict,nofile"});
  all.push_back({"ofi_gpus" + tail, kThreads, 3, "ofi,staged", spec, "", true});
  if (!tail.empty()) return all;
  all.push_back({"ofi_gpus_processes", kProcesses, 3, "ofi,staged", spec, "", true});
  all.push_back(
      {"ofi_gpus_unordered", kThreads, 3, "ofi,staged", spec, "unordered,offload,busy", true});
#endif
  return all;
}

std::vector<TransportJob> jobs(bool only_late) {
  const struct {
    const char* name;
    const char* spec;
  } faults[] = {
      {"", ""},
      {"_late", "late=1"},
      {"_delay", "delay=0.3"},
      {"_duplicate", "duplicate=0.5"},
      {"_all", "late=1,delay=0.2,duplicate=0.3,busy=0.2,max_bytes=1000"},
  };
  std::vector<TransportJob> all;
  for (const auto& fault : faults) {
    if (only_late && std::string_view(fault.spec).find("late") == std::string_view::npos) continue;
    for (TransportJob& job : jobs_here(fault.name, fault.spec)) all.push_back(std::move(job));
  }
  return all;
}

std::string job_name(const ::testing::TestParamInfo<TransportJob>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, TransportTest, ::testing::ValuesIn(jobs(false)), job_name);
INSTANTIATE_TEST_SUITE_P(All, LateTransportTest, ::testing::ValuesIn(jobs(true)), job_name);

}  // namespace
}  // namespace weft
