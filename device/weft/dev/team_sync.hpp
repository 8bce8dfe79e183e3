// The sync of a team: one member's words to the others, and theirs to it.
//
// Few members all tell each other. More disseminate: in round r a member tells the one 2^r ranks on
// and hears from the one 2^r ranks back, so each sends ceil(log2 size) messages. Signal and wait
// carry release and acquire. A word has one writer, and holds the epoch that it has told of.
//
// Members on several hosts (team_hosts.hpp) do that twice: those of a host first, and then, with a
// word that all of it are here, each with one of every other host. So a sync takes one message's
// way between hosts, or ceil(log2 hosts), whatever the number of members.
//
// Messages may overtake each other on their way. A member reaches epoch e+2 only after all have
// entered e+1 and so have read their words of e: words of two parities are enough for none to have
// two messages under way. Where few members map each other, words are counted up instead, which may
// be done in any order: so one parity does, and what is told need not know the epoch, which takes
// as long to ask for as a third of the way to a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/target.hpp>
#include <weft/team.hpp>

#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/team_block.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// A rank in [0, 2n) of a ring of n. A division would take longer than many a message.
WEFT_HOST_DEVICE constexpr int wrapped(int rank, int n) { return rank < n ? rank : rank - n; }

// The PE of a rank that there is.
WEFT_HOST_DEVICE int pe_at(const Team& team, int rank) {
  return team.list != nullptr ? team.list[rank] : team.start + rank * team.stride;
}

// Few members, which map each other; the same for all members, as long as there is the team.
template <class Port>
WEFT_DEVICE bool counts_up(const Port& port, const Team& team) {
  if constexpr (Port::kPacks) return port.layout().packed_bytes != 0 && team.size <= kFlatSync;
  return false;
}

// One sync, by threads that have been in step. The Port is that of team_member.hpp.
template <class Port, class Scope>
struct TeamSync {
  Port& port;
  const Scope& scope;
  const Team& team;
  const TeamLayout& layout;
  std::byte* block;

  // The words that need not wait for any. Each thread tells some.
  WEFT_DEVICE void tell(std::uint64_t epoch) const {
    if (disseminates()) return;
    for (int distance = 1 + scope.rank(); distance < team.size; distance += scope.size())
      tell_one(epoch, distance - 1, distance);
  }
  // Every other member has told, as far as my thread is to hear it; false: gave up.
  WEFT_DEVICE bool hear(std::uint64_t epoch) const {
    if (disseminates())
      return scope.rank() != 0 || (spans_hosts() ? by_hosts(epoch) : by_rank(epoch));
    bool ok = true;
    for (int distance = 1 + scope.rank(); ok && distance < team.size; distance += scope.size())
      ok = hear_one(epoch, distance - 1, distance);
    return ok;
  }

 private:
  WEFT_DEVICE bool spans_hosts() const {
    if constexpr (Port::kSpansHosts) return hosts().count() > 1;
    return false;
  }
  // Some words wait for others; one thread deals with them.
  WEFT_DEVICE bool disseminates() const { return team.size > kFlatSync || spans_hosts(); }
  WEFT_DEVICE TeamHosts hosts() const {
    return TeamHosts(reinterpret_cast<const std::int32_t*>(block + layout.hosts));
  }

  // A sync of `count`, of which I am number `mine`. tell(number, message), hear(number, message).
  template <class Tell, class Hear>
  WEFT_DEVICE static bool disseminate(int count, int mine, Tell tell, Hear hear) {
    const bool flat = count <= kFlatSync;
    for (int distance = 1; flat && distance < count; ++distance)
      tell(wrapped(mine + distance, count), distance - 1);
    bool ok = true;
    for (int message = 0, distance = 1; ok && distance < count; ++message) {
      if (!flat) tell(wrapped(mine + distance, count), message);
      ok = hear(wrapped(mine - distance + count, count), message);
      distance += flat ? 1 : distance;
    }
    return ok;
  }
  WEFT_DEVICE bool by_rank(std::uint64_t epoch) const {
    return disseminate(
        team.size, team.rank, [&](int to, int message) { tell_rank(epoch, message, to); },
        [&](int from, int message) { return hear_rank(epoch, message, from); });
  }
  // A member of another host that hears from me hears from nobody else of my host.
  WEFT_DEVICE bool by_hosts(std::uint64_t epoch) const {
    const TeamHosts all = hosts();
    const int words_across = sync_messages(all.count());
    const auto mate = [&](int place) { return all.rank(all.mine(), place); };
    const bool together = disseminate(
        all.mates(), all.place(),
        [&](int to, int message) { tell_rank(epoch, words_across + message, mate(to)); },
        [&](int from, int message) {
          return hear_rank(epoch, words_across + message, mate(from));
        });
    return together && disseminate(
                           all.count(), all.mine(),
                           [&](int host, int message) {
                             all.for_senders(host, [&](int to) {
                               tell_rank(epoch, message, to);
                               return true;
                             });
                           },
                           [&](int host, int message) {
                             return hear_rank(epoch, message, all.leader(host, all.place()));
                           });
  }
  WEFT_DEVICE std::uint64_t* word(std::uint64_t epoch, int message) const {
    return reinterpret_cast<std::uint64_t*>(block + layout.sync_word(epoch, message));
  }
  WEFT_DEVICE void tell_one(std::uint64_t epoch, int message, int distance) const {
    tell_rank(epoch, message, wrapped(team.rank + distance, team.size));
  }
  WEFT_DEVICE bool hear_one(std::uint64_t epoch, int message, int distance) const {
    return hear_rank(epoch, message, wrapped(team.rank - distance + team.size, team.size));
  }
  WEFT_DEVICE void tell_rank(std::uint64_t epoch, int message, int rank) const {
    port.signal(word(epoch, message), epoch, pe_at(team, rank));
  }
  WEFT_DEVICE bool hear_rank(std::uint64_t epoch, int message, int rank) const {
    return port.wait(word(epoch, message), epoch, pe_at(team, rank));
  }
};

// The same as agree(), where a vote of a block takes its shared memory: a compiler that has to know
// how much of it a kernel takes may put each function that does so into its callers, and Triton
// 3.2's then takes minutes for gfx942.
template <class Scope>
WEFT_DEVICE bool agree_in_memory(const Scope& scope, std::uint64_t* broken, bool ok) {
  if (!ok) platform::store<Order::kRelaxed, Reach::kBlock>(broken, std::uint64_t{1});
  scope.sync();  // the stores of all threads before it are seen by the loads behind it
  const bool all = platform::load<Order::kRelaxed, Reach::kBlock>(broken) == 0;
  scope.sync();  // the next call's store comes after the loads of all threads
  return all;
}

// True if all threads of the scope say so; and then each sees what any of them has acquired. Else
// the team counts as failed from now on.
template <class Scope>
WEFT_DEVICE bool agree(const Scope& scope, std::byte* block, bool ok) {
  std::uint64_t* const broken = &reinterpret_cast<TeamHeader*>(block)->broken;
  if constexpr (!platform::kBlockVotes) {
    return agree_in_memory(scope, broken, ok);
  } else {
    if (scope.all(ok)) return true;
    if (scope.rank() == 0)
      platform::store<Order::kRelaxed, Reach::kBlock>(broken, std::uint64_t{1});
    return false;
  }
}

// The two halves of a sync, by threads in step. Where words are counted up the first need not know
// the epoch.
template <class Port, class Scope>
WEFT_DEVICE void tell_all(Port& port, const Scope& scope, const Team& team, std::uint64_t epoch) {
  const TeamLayout layout = port.layout();
  TeamSync<Port, Scope>{port, scope, team, layout, port.block(team.id)}.tell(epoch);
}
template <class Port, class Scope>
WEFT_DEVICE bool hear_all(Port& port, const Scope& scope, const Team& team, std::uint64_t epoch) {
  if constexpr (Port::kPacks)
    if (counts_up(port, team)) return port.hear_counts(scope, team, epoch);
  const TeamLayout layout = port.layout();
  return TeamSync<Port, Scope>{port, scope, team, layout, port.block(team.id)}.hear(epoch);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
