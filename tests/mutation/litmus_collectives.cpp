// Litmus programs of the collectives in kernels: small and large messages, mapped heaps and late
// ones, scopes of several threads. Exit status 0: every promise was kept.
#include <sched.h>

#include <algorithm>
#include <iterator>

#include <weft/dev/collective.hpp>
#include <weft/dev/tile.hpp>

#include "tests/mutation/litmus.hpp"

namespace weft::litmus {
namespace {

constexpr int kPes = 3;
// Elements: a message that one thread sends; one in a slot that all threads copy; one that goes
// straight to dst, in uneven shares.
constexpr std::size_t kTiny = 5, kSmall = 50, kLarge = 1111;
constexpr std::size_t kEven = 1112;       // in chunks of 16 bytes
constexpr std::int32_t kSmallSlot = 512;  // bytes; so a large message takes several rounds
constexpr int kCalls = 6;                 // more than there are generations of slots
constexpr int kManyPes = kFlatSync + 1;
constexpr std::uint64_t kAllPushed = ~std::uint64_t{0};

// A job with team blocks, and the buffers of one collective: they are used again call after call,
// which only the promises of the calls before allow.
class Collective {
 public:
  explicit Collective(JobOptions options, int pes = kPes, std::uint64_t pushed_bytes = kAllPushed,
                      bool on_hosts = false, bool small_slots = false)
      : job(with_room(options, pes)), pes_(pes) {
    TeamBlocks blocks = team_blocks(pes, 1, 0, options.packs ? kMostPackedBytes : 0);
    if (small_slots) blocks.slot_bytes = kSmallSlot;
    blocks.offset = job.allocate<std::byte>(blocks.stride);
    blocks.pushed_bytes = pushed_bytes;
    for (int pe = 0; pe < pes; ++pe) {
      job.teams(pe) = blocks;
      // A little before the flags of packed messages begin anew.
      auto* const header = job.at<TeamHeader>(pe, blocks.offset);
      header->packed = header->packed_synced = kPackedPeriod - 2;
      if (on_hosts) {  // ranks 0 and 1 on one, 2 on another
        const std::int32_t hosts[] = {2, pe / 2, pe % 2, 0, 2, 3, 0, 1, 2};
        std::copy(std::begin(hosts), std::end(hosts),
                  job.at<std::int32_t>(pe, blocks.offset + team_layout(blocks, pes).hosts));
      }
    }
    src_ = job.allocate<Word>(kPes * kEven * 2);
    dst_ = job.allocate<Word>(kPes * kEven * 2);
  }
  Team team(int pe) const {
    Team team;
    team.id = 0;
    team.size = pes_;
    team.rank = pe;
    return team;
  }
  Word* src(int pe) { return job.at<Word>(pe, src_); }
  Word* dst(int pe) { return job.at<Word>(pe, dst_); }

  DeviceJob job;

 private:
  static JobOptions with_room(JobOptions options, int pes) {
    options.npes = pes;
    if (pes > kPes) options.heap_bytes *= 2;
    return options;
  }
  const int pes_;
  std::uint64_t src_ = 0, dst_ = 0;
};

// Element i of those that rank `rank` gives in call `call`.
Word given(int call, int rank, std::size_t i) {
  return static_cast<Word>(call + 1) * 1'000'000 + static_cast<Word>(rank + 1) * 10'000 + i;
}

// Everything that one thread of the scope has in hand.
template <class Scope>
struct Call {
  const Context& ctx;
  Scope scope;
  Team team;
  int call;
  std::size_t count;
  Word* src;
  Word* dst;

  // The threads write the source for each other.
  void give(std::size_t elements) const {
    for (auto i = static_cast<std::size_t>((scope.rank() + 1) % scope.size()); i < elements;
         i += static_cast<std::size_t>(scope.size()))
      src[i] = given(call, team.rank, i);
  }
  Word sum(int ranks, std::size_t i) const {
    Word total = 0;
    for (int rank = 0; rank < ranks; ++rank) total += given(call, rank, i);
    return total;
  }
  // Every thread reads all of the result, then makes it useless for the next call.
  template <class Wanted>
  void expect(std::size_t elements, Wanted wanted) const {
    for (std::size_t i = 0; i < elements; ++i) LITMUS(dst[i] == wanted(i));
    scope.sync();
    for (auto i = static_cast<std::size_t>(scope.rank()); i < elements;
         i += static_cast<std::size_t>(scope.size()))
      dst[i] = ~Word{0};
  }
};

using Kind = int;
constexpr Kind kTile = 9, kKinds = 10, kFromOneRoot = 10;

template <class Scope>
void make_call(Kind kind, const Call<Scope>& c) {
  const int n = c.team.size;
  const int me = c.team.rank;
  const std::size_t count = c.count;
  const auto many = count * static_cast<std::size_t>(n);
  auto part = [&](std::size_t i) { return static_cast<int>(i / count); };
  switch (kind) {
    case 0: {
      const int root = c.call % n;
      if (me == root) c.give(count);
      LITMUS(dev::broadcast(c.ctx, c.scope, c.team, c.dst, c.src, count, root));
      return c.expect(count, [&](std::size_t i) { return given(c.call, root, i); });
    }
    case 1:
      c.give(count);
      LITMUS(dev::fcollect(c.ctx, c.scope, c.team, c.dst, c.src, count));
      return c.expect(many, [&](std::size_t i) { return given(c.call, part(i), i % count); });
    case 2: {  // rank r gives count - r elements
      c.give(count);
      LITMUS(
          dev::collect(c.ctx, c.scope, c.team, c.dst, c.src, count - static_cast<std::size_t>(me)));
      return c.expect(many - 3, [&](std::size_t i) {
        int rank = 0;
        std::size_t at = i;
        while (at >= count - static_cast<std::size_t>(rank))
          at -= count - static_cast<std::size_t>(rank++);
        return given(c.call, rank, at);
      });
    }
    case 3:
      c.give(many);
      LITMUS(dev::alltoall(c.ctx, c.scope, c.team, c.dst, c.src, count));
      return c.expect(many, [&](std::size_t i) {
        return given(c.call, part(i), static_cast<std::size_t>(me) * count + i % count);
      });
    case 4:
      c.give(2 * many);
      LITMUS(dev::alltoalls(c.ctx, c.scope, c.team, c.dst, c.src, 1, 2, count));
      return c.expect(many, [&](std::size_t i) {
        return given(c.call, part(i), 2 * (static_cast<std::size_t>(me) * count + i % count));
      });
    case 5:
      c.give(count);
      LITMUS((dev::reduce<ReduceOp::kSum>(c.ctx, c.scope, c.team, c.dst, c.src, count)));
      return c.expect(count, [&](std::size_t i) { return c.sum(n, i); });
    case 6:
      c.give(many);
      LITMUS((dev::reducescatter<ReduceOp::kSum>(c.ctx, c.scope, c.team, c.dst, c.src, count)));
      return c.expect(
          count, [&](std::size_t i) { return c.sum(n, static_cast<std::size_t>(me) * count + i); });
    case 7:
      c.give(count);
      LITMUS((dev::scan_inclusive<ReduceOp::kSum>(c.ctx, c.scope, c.team, c.dst, c.src, count)));
      return c.expect(count, [&](std::size_t i) { return c.sum(me + 1, i); });
    case 8:
      c.give(count);
      LITMUS((dev::scan_exclusive<ReduceOp::kSum>(c.ctx, c.scope, c.team, c.dst, c.src, count)));
      return c.expect(count, [&](std::size_t i) { return c.sum(me, i); });
    case kTile: {
      const dev::TileShape<1> shape{{static_cast<std::int64_t>(count)}, {1}, {1}};
      c.give(count);
      LITMUS(dev::reduce_tile<ReduceOp::kSum>(c.ctx, c.scope, c.team, c.dst, c.src, shape,
                                              dev::kEachMember));
      c.expect(count, [&](std::size_t i) { return c.sum(n, i); });
      LITMUS(dev::sync(c.ctx, c.scope, c.team));  // all have read my src
      return;
    }
    case kFromOneRoot:  // it runs ahead as far as it may
      if (me == 0) c.give(count);
      for (int i = 0; i < 100 * me; ++i) sched_yield();
      LITMUS(dev::broadcast(c.ctx, c.scope, c.team, c.dst, c.src, count, 0));
      return c.expect(count, [&](std::size_t i) { return given(c.call, 0, i); });
    default: fail("make_call", "no such collective");
  }
}

// A kind is called over and over with the same buffers and nothing in between: a member's dst is
// not written before it has made the call, and its src is its own again after it.
template <class Scope>
void collective(const JobOptions& options, Kind kind, std::size_t count, unsigned threads,
                std::uint64_t pushed_bytes = kAllPushed, bool on_hosts = false, int pes = kPes,
                bool small_slots = false) {
  Collective shared(options, pes, pushed_bytes, on_hosts, small_slots);
  run_grids(pes, 1, threads, [&](int pe) {
    const Context ctx(shared.job.handle(pe));
    for (int call = 0; call < (kind == kFromOneRoot ? 2 : 1) * kCalls; ++call) {
      forget_fences();
      const Call<Scope> c{ctx, {}, shared.team(pe), call, count, shared.src(pe), shared.dst(pe)};
      make_call(kind, c);
    }
  });
}

// sync: what any thread of any member wrote before it, every thread of every member may read after.
// barrier: that, and all puts before it have arrived.
template <class Scope>
void meetings_of_pes(const JobOptions& options, bool with_puts, unsigned threads, int pes = kPes,
                     bool on_hosts = false) {
  Collective shared(options, pes, kAllPushed, on_hosts);
  run_grids(pes, 1, threads, [&](int pe) {
    const Context ctx(shared.job.handle(pe));
    const Scope scope;
    const Team team = shared.team(pe);
    const int next = (pe + 1) % pes;
    for (int call = 0; call < 2 * kCalls; ++call) {
      forget_fences();
      // A place of its own for each call: nothing but the rendezvous keeps readers and writers
      // apart.
      Word* mine = shared.src(pe) + static_cast<std::size_t>(call) * kThreads;
      Word* theirs = shared.dst(with_puts ? pe : next) + static_cast<std::size_t>(call) * kThreads;
      const auto me = static_cast<std::size_t>(scope.rank());
      mine[me] = given(call, pe, me);
      if (with_puts) {
        ctx.put_nbi(dev::Thread{}, theirs + me, mine + me, 1, next);
        LITMUS(dev::barrier(ctx, scope, team));
      } else {
        theirs[me] = mine[me];  // a plain store to the neighbour's memory
        LITMUS(dev::sync(ctx, scope, team));
      }
      const int before = (pe + pes - 1) % pes;
      const Word* here = shared.dst(pe) + static_cast<std::size_t>(call) * kThreads;
      for (std::size_t i = 0; i < static_cast<std::size_t>(scope.size()); ++i)
        LITMUS(here[i] == given(call, before, i));
    }
  });
}

// A block agrees without a vote: each thread sees what its neighbour wrote before, and all hear in
// the same vote that one says no.
void votes_in_memory() {
  constexpr int kTimes = 20, kVotes = 4;
  for (int time = 0; time < kTimes; ++time) {
    std::uint64_t broken = 0;
    int told[kVotes][kThreads] = {};
    run_grids(1, 1, kThreads, [&](int) {
      const Block block;
      const int me = block.rank();
      for (int vote = 0; vote < kVotes; ++vote) {
        told[vote][me] = vote + 1;
        const bool agreed = dev::agree_in_memory(block, &broken, vote + 1 < kVotes || me != 1);
        LITMUS(told[vote][(me + 1) % block.size()] == vote + 1);
        LITMUS(agreed == (vote + 1 < kVotes));
      }
    });
    LITMUS(broken == 1);
  }
}

template <class Scope>
void run_scope(const JobOptions& options, unsigned threads) {
  for (Kind kind = 0; kind < kKinds; ++kind) {
    for (std::size_t count : {kTiny, kSmall, kLarge})
      if (kind != kTile || count != kLarge)  // which goes by the ring word by word
        collective<Scope>(options, kind, count, threads);
  }
}

// Broadcast, fcollect, alltoall, reduce and reducescatter with small messages that may go packed.
template <class Scope>
void run_packed(JobOptions options, unsigned threads) {
  options.packs = true;
  for (Kind kind : {0, 1, 3, 5, 6, kFromOneRoot})
    for (std::size_t count : {kTiny, kSmall}) collective<Scope>(options, kind, count, threads);
  collective<Scope>(options, kFromOneRoot, kTiny, threads, kAllPushed, false, kManyPes);
}

// The same with larger messages where few members map each other: straight into each other's
// memory, in chunks and not.
template <class Scope>
void run_direct(JobOptions options, unsigned threads) {
  options.packs = true;
  for (Kind kind : {0, 1, 3, 5, 6, kFromOneRoot})
    for (std::size_t count : {kLarge, kEven}) collective<Scope>(options, kind, count, threads);
}

// Broadcast, fcollect, alltoall and reduce where receivers read.
template <class Scope>
void run_pulled(const JobOptions& options, unsigned threads) {
  for (Kind kind : {0, 1, 3, 5})
    for (std::size_t count : {kTiny, kSmall, kLarge})
      collective<Scope>(options, kind, count, threads, 0);
}

// Sync, broadcast, fcollect and reduce where members lie on several hosts.
template <class Scope>
void run_on_hosts(const JobOptions& options, unsigned threads) {
  meetings_of_pes<Scope>(options, true, threads, kPes, true);
  for (Kind kind : {0, 1, 5, kFromOneRoot})
    for (std::size_t count : {kTiny, kSmall, kLarge})
      collective<Scope>(options, kind, count, threads, kAllPushed, true);
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  const auto [mapped, by_ring] = begin(argc, argv);
  votes_in_memory();
  meetings_of_pes<Block>(mapped, false, 3);
  meetings_of_pes<Block>(mapped, true, 3);
  meetings_of_pes<Block>(by_ring, true, 3);
  meetings_of_pes<Block>(mapped, false, 3, 2);  // whose heaps lie in a row
  meetings_of_pes<Block>(mapped, false, 1, kManyPes);
  JobOptions packed = mapped;
  packed.packs = true;
  meetings_of_pes<Block>(packed, false, 3);
  run_scope<Block>(mapped, 3);
  run_pulled<Block>(mapped, 3);
  run_packed<Block>(mapped, 3);
  run_direct<Block>(mapped, 3);
  run_direct<Warp>(mapped, 3);
  run_scope<Block>(by_ring, 3);
  run_pulled<Warp>(mapped, 3);
  collective<Block>(by_ring, 6, kLarge, 3, kAllPushed, false, kPes, true);
  run_on_hosts<Block>(mapped, 3);
  run_on_hosts<Block>(by_ring, 3);
  return 0;
}
