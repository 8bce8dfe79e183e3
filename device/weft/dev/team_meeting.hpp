// The sync of a team: one member's words to the others, and theirs to it.
//
// Few members all tell each other. More disseminate: in round r a member tells the one 2^r ranks on
// and hears from the one 2^r ranks back, so each sends ceil(log2 size) messages. A member reaches
// epoch e+2 only after all have entered e+1 and so have read their words of e: two parities are
// enough, and a word never has two messages under way. Signal and wait carry release and acquire.
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

// One sync of epoch `epoch`, by threads that have been in step. The Port is that of
// team_member.hpp.
template <class Port, class Scope>
struct TeamMeeting {
  Port& port;
  const Scope& scope;
  const Team& team;
  const TeamLayout& layout;
  std::byte* block;
  std::uint64_t epoch;

  // The words that need not wait for any. Each thread tells some.
  WEFT_DEVICE void tell() const {
    if (team.size > kFlatSync) return;
    for (int distance = 1 + scope.rank(); distance < team.size; distance += scope.size())
      tell_one(distance - 1, distance);
  }
  // Every other member has told, as far as my thread is to hear it; false: gave up.
  WEFT_DEVICE bool hear() const {
    if (team.size > kFlatSync) return scope.rank() != 0 || disseminate();
    bool ok = true;
    for (int distance = 1 + scope.rank(); ok && distance < team.size; distance += scope.size())
      ok = hear_one(distance - 1, distance);
    return ok;
  }

 private:
  WEFT_DEVICE bool disseminate() const {
    bool ok = true;
    int distance = 1;
    for (int round = 0; ok && distance < team.size; ++round, distance *= 2) {
      tell_one(round, distance);
      ok = hear_one(round, distance);
    }
    return ok;
  }
  WEFT_DEVICE std::uint64_t* word(int message) const {
    return reinterpret_cast<std::uint64_t*>(block + layout.sync_word(epoch, message));
  }
  WEFT_DEVICE void tell_one(int message, int distance) const {
    port.signal(word(message), epoch, team.pe_of(wrapped(team.rank + distance, team.size)));
  }
  WEFT_DEVICE bool hear_one(int message, int distance) const {
    const int from = wrapped(team.rank - distance + team.size, team.size);
    return port.wait(word(message), epoch, team.pe_of(from));
  }
};

// True if all threads of the scope say so; and then each sees what any of them has acquired. Else
// the team is broken from now on.
template <class Scope>
WEFT_DEVICE bool agree(const Scope& scope, std::byte* block, bool ok) {
  const bool all = scope.all(ok);
  if (!all && scope.rank() == 0)
    platform::store<Order::kRelaxed, Reach::kBlock>(&reinterpret_cast<TeamHeader*>(block)->broken,
                                                    std::uint64_t{1});
  return all;
}

template <class Port, class Scope, class Refuse>
WEFT_DEVICE bool meet_as_one(Port& port, const Scope& scope, const Team& team, std::byte* block,
                             Refuse refuse) {
  auto* const kept = reinterpret_cast<TeamHeader*>(block);
  // Ordered by the scope's barriers; asked for at once, since each takes as long as a poll.
  const auto epoch = platform::load<Order::kRelaxed, Reach::kBlock>(&kept->epoch) + 1;
  const auto broken = platform::load<Order::kRelaxed, Reach::kBlock>(&kept->broken);
  if (broken != 0) {
    if (scope.rank() == 0) refuse();
    return false;
  }
  const TeamLayout layout = port.layout();
  const TeamMeeting<Port, Scope> meeting{port, scope, team, layout, block, epoch};
  meeting.tell();
  scope.sync();             // all have read the counters
  if (scope.rank() == 0) {  // while the words are under way
    kept->epoch = epoch;
    kept->synced = kept->seq;
    kept->packed_synced = kept->packed;
  }
  return meeting.hear();
}

// A call that is a sync and nothing else: by one warp of a block, since the others would only be in
// its way. False: gave up, or the team was broken: then `refuse()` is called by one thread.
template <class Port, class Scope, class Refuse>
WEFT_DEVICE bool meet(Port& port, const Scope& scope, const Team& team, Refuse refuse) {
  scope.sync();  // what my other threads did comes before the release
  std::byte* const block = port.block(team.id);
  bool ok = true;
  if constexpr (std::is_same_v<Scope, Block>) {
    const FirstWarp few;
    if (few.has_me()) ok = meet_as_one(port, few, team, block, refuse);
  } else {
    ok = meet_as_one(port, scope, team, block, refuse);
  }
  return agree(scope, block, ok);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
