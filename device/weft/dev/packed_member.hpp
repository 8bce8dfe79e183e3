// PackedMember: one member's side of one collective call whose messages are packed (packed.hpp). It
// is what TeamMember is to larger messages, with less to know and to wait for: a call is one
// exchange, in which a member sends another at most one message, unit by unit.
//
// Exchanges are numbered alike on all members, and their number is in every word's flag. Each of
// kGenerations has places of its own, and begin() makes sure that every member has finished the
// earlier exchange of the same places: as it is with slots (team_member.hpp), an exchange in which
// everybody hears from everybody proves that all have finished the one before, and a sync that all
// have finished all. But a packed message orders nothing else: that it has come does not say that a
// slot has been read. So the two kinds of exchanges are counted apart.
//
// The Port has block() and layout() of team_member.hpp, and
//   T* there(T* in_block, int pe)           where pe's copy of it is stored to; all are mapped
//   bool wait_on(PackedRow)                 one thread; its packets are all there; false: gave up
//   bool make_ready(scope, team, syncs_first, wipes)             make_packed_ready() with a sync
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/target.hpp>
#include <weft/team.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/dev/team_sync.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

inline constexpr int kTogether = 4;  // units that a thread waits for at once
// The same of one message: what a thread sends alone is all in its hands.
template <class Scope>
inline constexpr int kInHand = std::is_same_v<Scope, Thread> ? 8 : kTogether;

// Where the words of an exchange come to lie in a member's block, rank by rank, and their flag.
struct PackedPlaces {
  std::byte* first;
  std::uint32_t distance;  // in bytes
  std::uint32_t flag;

  WEFT_DEVICE std::byte* at(int rank, unsigned unit) const {
    return first + static_cast<std::uint32_t>(rank) * distance + unit * sizeof(Pair);
  }
};

// The units of so many packets, kMost of them, that lie equally far apart: all are asked for
// before the first is looked at, since each takes as long as the others. False: they do not come
// soon.
template <int kMost>
WEFT_DEVICE bool take_units(const std::byte* first, std::uint32_t distance, int count,
                            std::uint32_t flag, std::uint64_t (&units)[kMost]) {
  Pair got[kMost];
  const auto have_come = [&] {
    std::uint32_t apart = distance;
    platform::settle(apart);  // or there were registers for the address of each
    for (int k = 0; k < kMost; ++k) {
      const auto number = static_cast<unsigned>(k < count ? k : 0);
      got[k] = platform::load_pair(
          reinterpret_cast<const std::uint64_t*>(first + std::size_t{number * apart}));
    }
    bool all = true;
    for (int k = 0; k < kMost; ++k) all = has_flag(got[k], flag) && all;
    return all;
  };
  if (!comes_soon(have_come)) return false;
  for (int k = 0; k < kMost; ++k) units[k] = unit_of(got[k]);
  return true;
}

// Which units of a message a thread has in hand: as far apart as there are threads.
template <class Scope>
class UnitsInHand {
 public:
  static constexpr int kMost = kInHand<Scope>;
  using Units = std::uint64_t[kMost];

  WEFT_DEVICE UnitsInHand(const Scope& scope, unsigned bytes)
      : first_(static_cast<unsigned>(scope.rank())),
        step_(static_cast<unsigned>(scope.size())),
        count_(static_cast<unsigned>(packed_units(bytes))) {}

  WEFT_DEVICE bool is_empty() const { return first_ >= count_; }
  WEFT_DEVICE void next() { first_ += kMost * step_; }
  WEFT_DEVICE unsigned first() const { return first_; }
  WEFT_DEVICE unsigned step() const { return step_; }
  WEFT_DEVICE int size() const {
    int size = 0;
    for_each([&](int, unsigned) { ++size; });
    return size;
  }

  // kLooksForWhole: for callers that have the registers.
  template <bool kLooksForWhole>
  WEFT_DEVICE void load(Units& units, const std::byte* message, unsigned bytes) const {
    if (!kLooksForWhole || !are_whole(message, bytes))
      return for_each([&](int k, unsigned index) { units[k] = load_unit(message, bytes, index); });
    const auto* const first = reinterpret_cast<const Whole*>(message + first_ * kWholeBytes);
    for (int k = 0; k < kMost; ++k) units[k] = first[k];
  }
  WEFT_DEVICE void store(const Units& units, std::byte* message, unsigned bytes) const {
    if (!are_whole(message, bytes))
      return for_each([&](int k, unsigned index) { store_unit(message, bytes, index, units[k]); });
    auto* const first = reinterpret_cast<Whole*>(message + first_ * kWholeBytes);
    for (int k = 0; k < kMost; ++k) first[k] = units[k];
  }
  // Takes the units that have come to the places of `row`; false: they do not come soon.
  WEFT_DEVICE bool take(Units& units, const PackedPlaces& places, int row) const {
    return take_units(places.at(row, first_), step_ * sizeof(Pair), size(), places.flag, units);
  }
  // `to`: where the first one is to lie.
  WEFT_DEVICE void send(const Units& units, std::byte* to, std::uint32_t flag) const {
    for_each([&](int k, unsigned index) {
      store_packed(reinterpret_cast<std::uint64_t*>(to + (index - first_) * sizeof(Pair)), units[k],
                   flag);
    });
  }

 private:
  using Whole = Chunk<kPackedUnit>::type;
  static constexpr auto kWholeBytes = static_cast<unsigned>(kPackedUnit);

  // A hand full of whole units at multiples of their size: none need be looked at by itself, which
  // takes a thread alone as long as the memory does.
  WEFT_DEVICE bool are_whole(const std::byte* message, unsigned bytes) const {
    return std::is_same_v<Scope, Thread> && first_ + kMost <= bytes / kWholeBytes &&
           reinterpret_cast<std::uintptr_t>(message) % kWholeBytes == 0;
  }
  template <class Body>
  WEFT_DEVICE void for_each(Body body) const {
    for (int k = 0; k < kMost; ++k) {
      const unsigned index = first_ + static_cast<unsigned>(k) * step_;
      if (index < count_) body(k, index);
    }
  }

  unsigned first_, step_, count_;
};

// Packets with one flag at equal distances: what a thread waits for that did not come soon.
struct PackedRow {
  const std::byte* first;
  std::size_t distance;  // in bytes
  int count;
  std::uint32_t flag;
  int from;  // the rank that sends all of them; -1: packet k is of rank k
  Team team;

  WEFT_DEVICE const std::uint64_t* words(int k) const {
    return reinterpret_cast<const std::uint64_t*>(first + static_cast<std::size_t>(k) * distance);
  }
  WEFT_DEVICE int pe(int k) const { return team.pe_of(from < 0 ? k : from); }
};

// Before an exchange whose places may be in use, or whose flag may be that of a word of long ago.
// By threads in step. Wiped, since flags begin anew and none of before may be taken for one of now:
// I have taken all that I was sent, and nobody sends before all have wiped. meet(): a sync.
template <class Port, class Scope, class Sync>
WEFT_DEVICE bool make_packed_ready(const Port& port, const Scope& scope, const Team& team,
                                   bool syncs_first, bool wipes, Sync sync) {
  if (syncs_first && !sync()) return false;
  if (!wipes) return true;
  const TeamLayout layout = port.layout();
  std::byte* const block = port.block(team.id);
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t at = layout.packed_begin() + static_cast<std::size_t>(scope.rank()) * 16;
       at < layout.packed_end(); at += static_cast<std::size_t>(scope.size()) * 16)
    platform::store_pair(reinterpret_cast<std::uint64_t*>(block + at), {});
  return sync();
}

template <class Port, class Scope>
class PackedMember {
 public:
  using Hand = UnitsInHand<Scope>;

  // The scope's threads have arrived, and see what the others wrote before the call.
  WEFT_DEVICE PackedMember(const Port& port, const Scope& scope, const Team& team)
      : port_(port), scope_(scope), team_(team) {
    scope_.sync();
    // Not before all are here: one of them may come from a call of its own on this team. All at
    // once, since each takes as long as a poll.
    const std::uint64_t seq = next(), synced = kept()->packed_synced;
    broken_ = kept()->broken != 0;
    meets_ = seq - synced > static_cast<std::uint64_t>(kGenerations);
    wipes_ = seq % kPackedPeriod == 0;
    const TeamLayout layout = port_.layout();
    const std::size_t first = layout.packed(seq, 0);
    places_ = {block() + first, static_cast<std::uint32_t>(layout.packed(seq, 1) - first),
               static_cast<std::uint32_t>(seq % kPackedPeriod) + 1};
    platform::settle(places_.flag);  // or seq were kept for it
  }
  PackedMember(const PackedMember&) = delete;
  PackedMember& operator=(const PackedMember&) = delete;

  WEFT_DEVICE const Scope& scope() const { return scope_; }
  WEFT_DEVICE int rank() const { return team_.rank; }
  WEFT_DEVICE int size() const { return team_.size; }
  // An earlier wait failed: members are out of step, and what arrives means nothing.
  WEFT_DEVICE bool broken() const { return broken_; }

  // The exchange begins: its places are free on all members.
  WEFT_DEVICE bool begin() {
    return !(meets_ || wipes_) || port_.make_ready(scope_, team_, meets_, wipes_);
  }
  // The result of the call, for all threads; `hears_all`: everybody has waited for everybody. The
  // counters that the leader writes are read behind the first barrier of the next call.
  WEFT_DEVICE bool finish(bool ok, bool hears_all) {
    const std::uint64_t seq = next();  // once more, rather than keep it
    ok = agree(scope_, block(), ok);
    if (scope_.rank() == 0) {
      kept()->packed = seq;
      if (hears_all) kept()->packed_synced = seq - 1;
    }
    return ok;
  }

  WEFT_DEVICE const PackedPlaces& places() const { return places_; }
  // To the places of `row`, a rank, as they lie with me, moved.
  WEFT_DEVICE void send(const PackedPlaces& places, int row, int to, const Hand& some,
                        const typename Hand::Units& units) const {
    some.send(units, port_.there(places.at(row, some.first()), pe_at(team_, to)), places.flag);
  }
  // Unit `unit` of all ranks has come; false: gave up.
  WEFT_DEVICE bool wait_for_ranks(unsigned unit) const {
    const PackedRow row{places_.at(0, unit), places_.distance, size(), places_.flag, -1, team_};
    return port_.wait_on(row);  // mutation: equivalent, the caller polls again
  }
  // The units of `from` in the places of `row` have come, as many as are taken together; false:
  // gave up.
  WEFT_DEVICE bool wait_for_units(int row, int from, const Hand& some) const {
    const PackedRow left{places_.at(row, some.first()),
                         some.step() * sizeof(Pair),
                         some.size(),
                         places_.flag,
                         from,
                         team_};
    return port_.wait_on(left);  // mutation: equivalent, the caller polls again
  }

 private:
  // Worked out anew for each use, so that no registers are kept for it.
  WEFT_DEVICE std::byte* block() const {
    int id = team_.id;
    platform::settle(id);
    return port_.block(id);
  }
  WEFT_DEVICE TeamHeader* kept() const { return reinterpret_cast<TeamHeader*>(block()); }
  // The number of this exchange, until the leader puts it back.
  WEFT_DEVICE std::uint64_t next() const {
    return platform::load<Order::kRelaxed, Reach::kBlock, std::uint64_t>(&kept()->packed) + 1;
  }

  const Port& port_;
  const Scope& scope_;
  const Team& team_;
  bool broken_, meets_, wipes_;
  PackedPlaces places_;
};

}  // namespace WEFT_TARGET
}  // namespace weft::dev
