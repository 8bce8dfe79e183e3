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
// The Port is that of team_member.hpp; of it, this uses block(), layout(), signal() and wait() (of
// the sync) and
//   T* there(T* in_block, int pe)           where pe's copy of it is stored to; all are mapped
//   bool wait_on(PackedRow)                 one thread; its packets are all there; false: gave up
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>
#include <weft/team.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/dev/team_meeting.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

inline constexpr int kTogether = 4;  // units that a thread waits for at once

// Packets with one flag at equal distances: what a thread waits for that did not come soon.
struct PackedRow {
  const std::byte* first;
  std::size_t distance;  // in bytes
  int count, without;    // without that one; -1: with all
  std::uint32_t flag;
  int from;  // the rank that sends all of them; -1: packet k is of rank k
  Team team;

  WEFT_DEVICE const std::uint64_t* words(int k) const {
    return reinterpret_cast<const std::uint64_t*>(first + static_cast<std::size_t>(k) * distance);
  }
  WEFT_DEVICE int pe(int k) const { return team.pe_of(from < 0 ? k : from); }
};

template <class Port, class Scope>
class PackedMember {
 public:
  // The scope's threads have arrived, and see what the others wrote before the call.
  WEFT_DEVICE PackedMember(const Port& port, const Scope& scope, const Team& team)
      : port_(port), scope_(scope), team_(team), block_(port.block(team.id)) {
    scope_.sync();
    // Not before all are here: one of them may come from a call of its own on this team. All at
    // once, since each takes as long as a poll.
    seq_ = kept()->packed + 1;
    synced_ = kept()->packed_synced;
    broken_ = kept()->broken != 0;
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
    const bool meets = seq_ - synced_ > static_cast<std::uint64_t>(kGenerations);
    const bool wipes = seq_ % kPackedPeriod == 0;
    return !(meets || wipes) || make_ready(port_, scope_, team_, meets, wipes);
  }
  // By each thread that sends or takes.
  WEFT_DEVICE void find_places() {
    const TeamLayout layout = port_.layout();
    places_ = block_ + layout.packed(seq_, 0);
    place_bytes_ = layout.packed(seq_, 1) - layout.packed(seq_, 0);
  }
  // The result of the call, for all threads; `hears_all`: everybody has waited for everybody. What
  // the leader writes is read behind the first barrier of the next call.
  WEFT_DEVICE bool finish(bool ok, bool hears_all) {
    ok = agree(scope_, block_, ok);
    if (scope_.rank() == 0) {
      kept()->packed = seq_;
      if (hears_all) kept()->packed_synced = seq_ - 1;
    }
    return ok;
  }

  WEFT_DEVICE void send(int to, std::size_t unit, std::uint64_t data) const {
    store_packed(port_.there(word(rank(), unit), team_.pe_of(to)), data, flag());
  }
  // Unit `unit` from each of the ranks first, first + 1, ... below size() but mine; false: they do
  // not come soon. Then wait_for_ranks(), where little is alive, and take them again.
  WEFT_DEVICE bool take_from_ranks(int first, std::size_t unit,
                                   std::uint64_t (&data)[kTogether]) const {
    const auto sends = [&](int k) { return first + k < size() && first + k != rank(); };
    return take(
        sends, [&](int k) { return first + k; }, [&](int) { return unit; }, data);
  }
  WEFT_DEVICE bool wait_for_ranks(std::size_t unit) const {
    const PackedRow row{at(0, unit), place_bytes_, size(), rank(), flag(), -1, team_};
    return port_.wait_on(row);  // mutation: equivalent, the caller polls again
  }
  // From `from` the units first, first + step, ... below `count`; likewise.
  WEFT_DEVICE bool take_units(int from, std::size_t first, std::size_t step, std::size_t count,
                              std::uint64_t (&data)[kTogether]) const {
    const auto unit = [&](int k) { return first + static_cast<std::size_t>(k) * step; };
    return take([&](int k) { return unit(k) < count; }, [&](int) { return from; }, unit, data);
  }
  WEFT_DEVICE bool wait_for_units(int from, std::size_t first, std::size_t step,
                                  std::size_t count) const {
    const std::size_t left = (count - first + step - 1) / step;
    const int some = left < kTogether ? static_cast<int>(left) : kTogether;
    const PackedRow row{at(from, first), step * sizeof(Pair), some, -1, flag(), from, team_};
    return port_.wait_on(row);  // mutation: equivalent, the caller polls again
  }

 private:
  WEFT_DEVICE TeamHeader* kept() const { return reinterpret_cast<TeamHeader*>(block_); }
  WEFT_DEVICE std::uint32_t flag() const {
    return static_cast<std::uint32_t>(seq_ % kPackedPeriod) + 1;
  }
  WEFT_DEVICE std::byte* at(int rank, std::size_t unit) const {
    return places_ + static_cast<std::size_t>(rank) * place_bytes_ + unit * sizeof(Pair);
  }
  WEFT_DEVICE std::uint64_t* word(int rank, std::size_t unit) const {
    return reinterpret_cast<std::uint64_t*>(at(rank, unit));
  }

  // Those k of 0 to kTogether - 1 that are_wanted(k): all are asked for before the first is looked
  // at, since each takes as long as the others.
  template <class AreWanted, class From, class Unit>
  WEFT_DEVICE bool take(AreWanted are_wanted, From from, Unit unit,
                        std::uint64_t (&data)[kTogether]) const {
    const auto have_come = [&] {
      bool all = true;
      for (int k = 0; k < kTogether; ++k)
        if (are_wanted(k)) all = load_packed(word(from(k), unit(k)), flag(), &data[k]) && all;
      return all;
    };
    return comes_soon(have_come);
  }

  // The scope's threads are in step before and after. Wiped, since flags begin anew and none of
  // before may be taken for one of now: I have taken all that I was sent, and nobody sends before
  // all have wiped.
  WEFT_DEVICE_COLD static bool make_ready(typename Port::Passed port, Scope scope, Team team,
                                          bool meets, bool wipes) {
    if (meets && !dev::meet(port, scope, team, [] {})) return false;
    if (!wipes) return true;
    const TeamLayout layout = port.layout();
    std::byte* const block = port.block(team.id);
    for (std::size_t at = layout.packed_begin() + static_cast<std::size_t>(scope.rank()) * 16;
         at < layout.packed_end(); at += static_cast<std::size_t>(scope.size()) * 16)
      platform::store_pair(reinterpret_cast<std::uint64_t*>(block + at), {});
    return dev::meet(port, scope, team, [] {});
  }

  const Port& port_;
  const Scope& scope_;
  const Team& team_;
  std::byte* const block_;
  std::uint64_t seq_, synced_;
  bool broken_;
  std::byte* places_ = nullptr;  // of this exchange: rank 0's
  std::size_t place_bytes_ = 0;
};

}  // namespace WEFT_TARGET
}  // namespace weft::dev
