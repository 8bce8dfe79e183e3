// TeamMember: one member's side of one collective call, with what every collective is made of: the
// numbered exchange of messages, and the sync.
//
// The Port is the way to the peers; weft/dev/collective.hpp wraps dev::Context into one,
// host/collective weft::Context. Addresses are this PE's own. A Port has
//
//   using Thread                        the scope of one thread
//   using Passed                        how it goes to a function that is not inlined: a reference
//                                       into a kernel's parameters would bring them to memory
//   TeamLayout layout(); std::byte* block(int team_id)
//   T* direct(T* mine, int pe)          where pe's copy of it can be loaded and stored, or null
//   bool pulls(std::size_t bytes)       blocks of that size are best read by who wants them; the
//                                       same on all members, and only if direct() is null for none
//   void put(scope, void* dst, const void* src, std::size_t bytes, int pe, Notify)
//                                       on return src is reusable
//   void get_nbi(scope, void* dst, const void* src, std::size_t bytes, int pe)
//   void signal(std::uint64_t* word, std::uint64_t value, int pe)      one thread; release
//   static constexpr bool kSpansHosts   members may lie on several hosts, as their blocks say
//   static constexpr bool kPacks        its layout may pack: then there is, for where it does,
//   void count_up(scope, team)          each other member's word of me is one more; release
//   bool hear_counts(scope, team, std::uint64_t epoch)     mine of the others, as far as my thread
//                                       is to hear them, are as many; acquire; false: gave up
//   bool wait(const std::uint64_t* word, std::uint64_t value, int pe)  one thread; acquire; word >=
//                                       value; `pe` is who will set it; false: gave up
//   bool wait_there(word, value, pe)    the same for pe's own copy of the word; direct() reaches it
//   void fence(scope); void quiet(scope)
//   void copy(scope, void* dst, const void* src, std::size_t bytes)    no sync of the scope inside
//   bool fits(const void* mine, std::size_t bytes)                     all of it lies in the heap
//
// In put, get_nbi, fence and quiet the scope's threads act as one, as in dev::Context: the call
// sees what each did before it, and what it promises on return holds for each. So the algorithms
// need no barrier around them.
//
// Exchanges. Each collective is one or more exchanges, numbered by `seq` alike on all members. In
// an exchange a member sends another at most one message: some bytes, then arrival word slot(seq,
// my rank) := seq; one that others have passed on counts as theirs. Or it announces something to
// all who can look into its block, by that word there. A member to which one is sent or announced
// waits for it before the exchange ends. A word or slot is used again kGenerations exchanges later,
// and begin() makes sure that by then every member has finished the earlier exchange. So there is
// never more than one message under way to a word, and nothing depends on the order in which
// messages, or the operations of different contexts, arrive.
//
// All have finished exchange k-1 once all have entered exchange k. So an exchange in which
// everybody hears from everybody (kAll), and a sync, move `synced` forward; broadcasts and scans,
// where nobody waits for those behind, do not, and begin() puts in a sync when they have used up
// the generations. Every member counts the same, so all put it in at the same place.
// packed_member.hpp has exchanges of another kind, which are counted apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/signal.hpp>
#include <weft/target.hpp>
#include <weft/team.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/dev/team_sync.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Messages up to this size are sent one per thread; larger ones by the whole scope, one by one.
inline constexpr std::size_t kThreadMessageBytes = 128;

template <class Port, class Scope>
class TeamMember {
 public:
  using Thread = typename Port::Thread;

  // The scope's threads have arrived, and see what the others wrote before the call.
  WEFT_DEVICE TeamMember(Port& port, Scope scope, const Team& team)
      : port_(port),
        scope_(scope),
        team_(team),
        layout_(port.layout()),
        block_(port.block(team.id)) {
    scope_.sync();
    // Not before all are here: one of them may come from a call of its own on this team.
    header_ = *reinterpret_cast<const TeamHeader*>(block_);
  }
  TeamMember(const TeamMember&) = delete;
  TeamMember& operator=(const TeamMember&) = delete;

  // The result of the call, once the counters are put back and every thread is done. The counters
  // that the leader writes are read behind the first barrier of the next call.
  WEFT_DEVICE bool finish(bool ok) {
    scope_.sync();
    if (scope_.rank() == 0) put_back();
    return ok;
  }

  WEFT_DEVICE Port& port() const { return port_; }
  WEFT_DEVICE const Scope& scope() const { return scope_; }
  WEFT_DEVICE int rank() const { return team_.rank; }
  WEFT_DEVICE int size() const { return team_.size; }
  WEFT_DEVICE int pe(int rank) const { return team_.pe_of(rank); }
  // An earlier wait failed: members are out of step, and what arrives means nothing.
  WEFT_DEVICE bool broken() const { return header_.broken != 0; }

  // Everything that any member did before its sync happens before what any member does after it.
  WEFT_DEVICE_CALLED bool sync() {
    scope_.sync();  // what my other threads did comes before the release
    const std::uint64_t epoch = ++header_.epoch;
    header_.synced = header_.seq;
    header_.packed_synced = header_.packed;
    const bool counts = counts_up(port_, team_);
    if constexpr (Port::kPacks)
      if (counts) port_.count_up(scope_, team_);
    if (!counts) tell_all(port_, scope_, team_, epoch);
    return agree(hear_all(port_, scope_, team_, epoch));
  }

  WEFT_DEVICE bool spans_hosts() const {
    if constexpr (Port::kSpansHosts) return hosts().count() > 1;
    return false;
  }
  WEFT_DEVICE TeamHosts hosts() const {
    return TeamHosts(reinterpret_cast<const std::int32_t*>(block_ + layout_.hosts));
  }

  // Starts the next exchange: the slots of every member are free.
  WEFT_DEVICE bool begin() {
    const std::uint64_t next = header_.seq + 1;
    if (next - header_.synced > static_cast<std::uint64_t>(kGenerations) && !sync()) return false;
    header_.seq = next;
    return true;
  }
  // Ends an exchange in which everybody waited for everybody: all have entered it.
  WEFT_DEVICE void end_all() { header_.synced = header_.seq - 1; }

  // Where `rank`'s message of this exchange lands in a member's block.
  WEFT_DEVICE std::byte* payload(int rank) const { return payload(0, rank); }
  // The same of the exchange `later` ones after this.
  WEFT_DEVICE std::byte* payload(int later, int rank) const {
    return block_ + layout_.payload(header_.seq + static_cast<std::uint64_t>(later), rank);
  }
  WEFT_DEVICE std::size_t payload_bytes() const { return layout_.payload_bytes(); }
  WEFT_DEVICE std::byte* work(int index) const { return block_ + layout_.work_buffer(index); }

  // My message of this exchange to `to`: bytes, then arrival. `caller` is the scope or one Thread.
  template <class Caller>
  WEFT_DEVICE void send(Caller caller, int to, void* dst, const void* src, std::size_t bytes) {
    pass_on(caller, rank(), to, dst, src, bytes);
  }
  // The message of `of`, which I have, on to another.
  template <class Caller>
  WEFT_DEVICE void pass_on(Caller caller, int of, int to, void* dst, const void* src,
                           std::size_t bytes) {
    auto* word = word_at(layout_.slot(header_.seq, of));
    port_.put(caller, dst, src, bytes, pe(to), set(word, header_.seq));
  }
  // Only the arrival; by one thread.
  WEFT_DEVICE void send(int to) {
    port_.signal(word_at(layout_.slot(header_.seq, rank())), header_.seq, pe(to));
  }

  // To all at once: each looks into my block. Only if direct() is null for none, and by the scope
  // whose threads wrote what is announced.
  WEFT_DEVICE void announce() {
    scope_.sync();  // what my other threads did comes before the leader's release
    if (scope_.rank() == 0)
      port_.signal(word_at(layout_.slot(header_.seq, rank())), header_.seq, pe(rank()));
  }
  WEFT_DEVICE bool announced(int from) {
    bool ok = true;
    if (scope_.rank() == 0)
      ok = port_.wait_there(word_at(layout_.slot(header_.seq, from)), header_.seq, pe(from));
    return agree(ok);
  }

  // message(caller, to) for every rank of [first, last) but me, starting behind me so that not all
  // members begin with the same one.
  template <class Message>
  WEFT_DEVICE void for_peers(int first, int last, std::size_t bytes, Message message) {
    const int many = last - first;
    const int next = rank() + 1;
    const int ahead = next > first && next < last ? next - first : 0;
    const bool alone = bytes <= kThreadMessageBytes;
    WEFT_DEVICE_AS_A_LOOP
    for (int i = alone ? scope_.rank() : 0; i < many; i += alone ? scope_.size() : 1) {
      const int to = first + wrapped(ahead + i, many);
      if (to == rank()) continue;
      if (alone)
        message(Thread{}, to);
      else
        message(scope_, to);
    }
  }

  // The message of this exchange from `from` is here.
  WEFT_DEVICE bool arrived(int from) {
    bool ok = true;
    if (scope_.rank() == 0) ok = wait_for(from);
    return agree(ok);
  }
  // The messages of all ranks of [first, last) that `sends` says send one, but me, are here.
  template <class Sends>
  WEFT_DEVICE bool all_arrived(int first, int last, Sends sends) {
    bool ok = true;
    WEFT_DEVICE_AS_A_LOOP
    for (int from = first + scope_.rank(); ok && from < last; from += scope_.size())
      if (from != rank() && sends(from)) ok = wait_for(from);
    return agree(ok);
  }
  WEFT_DEVICE bool all_arrived(int first, int last) {
    return all_arrived(first, last, [](int) { return true; });
  }

 private:
  WEFT_DEVICE void put_back() {
    auto* kept = reinterpret_cast<TeamHeader*>(block_);
    kept->seq = header_.seq;
    kept->synced = header_.synced;
    kept->packed_synced = header_.packed_synced;
    kept->epoch = header_.epoch;
  }
  WEFT_DEVICE std::uint64_t* word_at(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t*>(block_ + offset);
  }
  WEFT_DEVICE_CALLED bool wait_for(int from) {
    return port_.wait(word_at(layout_.slot(header_.seq, from)), header_.seq, pe(from));
  }

  WEFT_DEVICE bool agree(bool ok) { return dev::agree(scope_, block_, ok); }

  Port& port_;
  Scope scope_;
  const Team& team_;
  TeamLayout layout_;
  std::byte* block_;
  TeamHeader header_;  // every thread keeps the same copy; finish() writes it back
};

// Bytes of a line-aligned share: part `index` of `parts` of `bytes`; the last ones may be empty.
struct Share {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
WEFT_HOST_DEVICE Share share_of(std::size_t bytes, int parts, int index) {
  const std::size_t lines = round_to_line(bytes) / kCacheLine;
  const auto n = static_cast<std::uint32_t>(parts);
  // Numbers of 32 bits are divided in a tenth of the time.
  const std::size_t share = lines >> 32 == 0 ? static_cast<std::uint32_t>(lines) / n : lines / n;
  const std::size_t each = (share + (share * n != lines)) * kCacheLine;
  const std::size_t offset = each * static_cast<std::size_t>(index);
  if (offset >= bytes) return {bytes, 0};
  return {offset, bytes - offset < each ? bytes - offset : each};
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
