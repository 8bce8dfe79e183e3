// DirectMember: one member's side of a call among few members that map each other (counts_up()), by
// threads that store straight into the others' memory. It has a barrier, and where things lie.
//
// A barrier is in two halves. tell(): the word that each other member has of me is one more.
// hear(): mine of them are as many as this barrier is, the epoch. A member that hears in a later
// epoch hears of all before, so a member may leave out those that it need not wait for; but each
// tells once an epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/target.hpp>
#include <weft/team.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/missing.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/dev/team_sync.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Whether a team makes such calls: the same for all members, as long as there is the team.
WEFT_DEVICE bool is_direct(const DeviceContext& h, const Team& team) {
  return h.teams.packed_bytes != 0 && team.size <= kFlatSync;
}

// The word of the member `distance` ranks back in a block, which that member counts up.
WEFT_DEVICE std::uint64_t* direct_word(std::byte* block, int distance) {
  return reinterpret_cast<std::uint64_t*>(block + kCacheLine * static_cast<unsigned>(distance));
}
// Its rank.
WEFT_DEVICE int direct_rank(const Team& team, int distance) {
  return wrapped(team.rank - distance + team.size, team.size);
}

// The words first, first + step, ... of a block, which a thread is to hear.
struct MemberWords {
  const char* where;
  std::byte* block;
  Team team;
  std::uint64_t epoch;
  int first, step;
};
// The rest of hear() for those that do not all come soon.
WEFT_DEVICE_COLD bool wait_on_members(ByValue<ColdContext> cold, const MemberWords& words) {
  WEFT_DEVICE_AS_A_LOOP
  for (int distance = words.first; distance < words.team.size; distance += words.step) {
    const std::uint64_t* const word = direct_word(words.block, distance);
    const auto wanted = waiting::same(word, 1, nullptr, Cmp::kGe, words.epoch);
    const bool came = wait_on(
        *cold.state,
        [&](std::uint64_t waited_ns) {
          const auto seen = platform::load<Order::kRelaxed, Reach::kSystem>(word);
          const int pe = pe_at(words.team, direct_rank(words.team, distance));
          report_missing(cold, words.where, {word, pe, seen, words.epoch, true}, waited_ns);
        },
        [&] { return wanted.came(0); });
    if (!came) return false;
  }
  return true;
}

template <class Scope>
class DirectMember {
 public:
  WEFT_DEVICE DirectMember(const DeviceContext& h, const Scope& scope, const Team& team,
                           const char* where)
      : h_(h), scope_(scope), team_(team), where_(where) {}
  DirectMember(const DirectMember&) = delete;
  DirectMember& operator=(const DirectMember&) = delete;

  WEFT_DEVICE const DeviceContext& handle() const { return h_; }
  WEFT_DEVICE const Scope& scope() const { return scope_; }
  WEFT_DEVICE const Team& team() const { return team_; }
  WEFT_DEVICE Ranks threads() const { return {scope_.rank(), scope_.size()}; }
  WEFT_DEVICE int rank() const { return team_.rank; }
  WEFT_DEVICE int size() const { return team_.size; }
  WEFT_DEVICE int pe(int rank) const { return pe_at(team_, rank); }
  // Worked out anew for each use: registers are for what is copied.
  WEFT_DEVICE std::byte* block() const {
    int id = team_.id;
    platform::settle(id);
    return h_.heap + team_block_offset(h_.teams, id);
  }

  // The rest are for threads in step, with a barrier of the scope between two of them that need it.

  // Release: what the scope's threads did before its last barrier comes before what others do once
  // they hear. Pairs with the acquire of hear(). Each release of one thread would wait until the
  // word before has arrived, so one that tells several fences once, where a fence orders them.
  WEFT_DEVICE void tell() const {
    constexpr bool kOnce = std::is_same_v<Scope, Thread> && platform::kFencesForOthers;
    if constexpr (kOnce)
      platform::fence<Reach::kSystem>();  // mutation: equivalent, hosts release each word
    WEFT_DEVICE_AS_A_LOOP
    for (int distance = 1 + scope_.rank(); distance < size(); distance += scope_.size()) {
      const int to = pe(wrapped(rank() + distance, size()));
      std::byte* const there = heap_of(h_, to) + team_block_offset(h_.teams, team_.id);
      platform::add<kOnce ? Order::kRelaxed : Order::kRelease, Reach::kSystem>(
          direct_word(there, distance), std::uint64_t{1});
    }
  }
  // The epoch that begins, and whether an earlier wait failed, so that members are out of step: the
  // same for all threads, until the leader has put the epoch back. Ordered by the scope's barriers.
  WEFT_DEVICE void read() {
    const auto ask = platform::load<Order::kRelaxed, Reach::kBlock, std::uint64_t>;
    epoch_ = ask(&kept()->epoch) + 1;
    broken_ = ask(&kept()->broken) != 0;
  }
  WEFT_DEVICE bool broken() const { return broken_; }
  WEFT_DEVICE void next() { ++epoch_; }
  // By the leader. `all_came`: who returns from this call knows that all members have made it, and
  // so are done with all exchanges before.
  WEFT_DEVICE void put_back(bool all_came) const {
    kept()->epoch = epoch_;
    if (!all_came) return;
    kept()->synced = kept()->seq;
    kept()->packed_synced = kept()->packed;
  }
  // The others have told, as far as my thread is to hear it; false: gave up.
  WEFT_DEVICE bool hear() const { return hear(epoch_); }
  WEFT_DEVICE bool hear(std::uint64_t epoch) const {
    constexpr int kWords = std::is_same_v<Scope, Thread> ? kFlatSync - 1 : 1;
    const int first = 1 + scope_.rank();
    return first >= size() || hear<kWords>(first, scope_.size(), epoch);
  }
  // One of them has; by one thread.
  WEFT_DEVICE bool hear_from(int from) const {
    return hear<1>(wrapped(rank() - from + size(), size()), kFlatSync, epoch_);
  }

  // Where a member has what lies at `mine` here, in a range that is_plain().
  WEFT_DEVICE std::byte* there(const void* mine, int rank) const {
    return moved(mine, distance_to(h_, pe(rank)));
  }

 private:
  WEFT_DEVICE TeamHeader* kept() const { return reinterpret_cast<TeamHeader*>(block()); }

  // The words first, first + step, ...: kWords of them are asked for before the first is looked at,
  // since each takes as long as all.
  template <int kWords>
  WEFT_DEVICE bool hear(int first, int step, std::uint64_t epoch) const {
    const int n = size();
    const auto seem_to = [&] {
      bool all = true;
      for (int distance = first; distance < n; distance += kWords * step) {
        std::uint64_t seen[kWords];
        for (int i = 0; i < kWords; ++i) {  // the first once more rather than under a condition
          const int at = distance + i * step;
          seen[i] = look(at < n ? at : distance);
        }
        for (int i = 0; i < kWords; ++i) all = seen[i] >= epoch && all;
      }
      return all;
    };
    if (comes_soon(seem_to)) {
      // Acquire: pairs with the release of tell().
      const auto holds = [&](std::uint64_t now) { return now >= epoch; };
      bool all = true;
      for (int distance = first; distance < n; distance += step)
        all = platform::acquire(direct_word(block(), distance), holds) && all;
      if (all) return true;
    }
    return by_abi(wait_on_members)(h_, {where_, block(), team_, epoch, first, step});
  }
  WEFT_DEVICE std::uint64_t look(int distance) const {
    return platform::load<Order::kRelaxed, Reach::kSystem>(direct_word(block(), distance));
  }

  const DeviceContext& h_;
  const Scope& scope_;
  const Team& team_;
  const char* where_;
  std::uint64_t epoch_ = 0;
  bool broken_ = false;
};

}  // namespace WEFT_TARGET
}  // namespace weft::dev
