// Collectives whose members lie on several hosts: bytes that all are to have cross to each other
// host once, to a member there, which puts them to the others of its host.
#pragma once

#include <cstddef>

#include <weft/dev/team_member.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

inline constexpr int kFlatBroadcast = 8;  // up to this many members the root tells each itself

// Some bytes that a member has for all: where they land, in everybody's memory. Null: it has none.
struct Landing {
  std::byte* at;
  std::size_t bytes;
};

// To the others of my host, those of rank `of`, which lie at `src`.
template <class Member>
WEFT_DEVICE void tell_mates(Member& m, const TeamHosts& hosts, int of, const Landing& landing,
                            const std::byte* src) {
  const int mates = hosts.mates();
  for (int i = 1; i < mates; ++i)
    m.pass_on(m.scope(), of, hosts.rank(hosts.mine(), wrapped(hosts.place() + i, mates)),
              landing.at, src, landing.bytes);
}

// One exchange in which all hear of all that have something: landing_of(rank), the same on all
// members; mine is at `src`. Messages that go far go first.
template <class Member, class LandingOf>
WEFT_DEVICE bool tell_all_by_hosts(Member& m, const std::byte* src, LandingOf landing_of) {
  const TeamHosts hosts = m.hosts();
  const int me = m.rank();
  const Landing mine = landing_of(me);
  const auto has_some = [&](int rank) { return rank != me && landing_of(rank).at != nullptr; };
  if (mine.at != nullptr) {
    for (int i = 1; i < hosts.count(); ++i) {
      const int to = hosts.leader(wrapped(hosts.mine() + i, hosts.count()), hosts.place());
      m.send(m.scope(), to, mine.at, src, mine.bytes);
    }
    tell_mates(m, hosts, me, mine, src);
  }
  for (int i = 1; i < hosts.count(); ++i) {
    const int host = wrapped(hosts.mine() - i + hosts.count(), hosts.count());
    const bool ok = hosts.for_senders(host, [&](int from) {
      if (!has_some(from)) return true;
      if (!m.arrived(from)) return false;
      const Landing theirs = landing_of(from);
      tell_mates(m, hosts, from, theirs, theirs.at);
      return true;
    });
    if (!ok) return false;
  }
  return m.all_arrived(0, m.size(), has_some);
}

template <class Member>
WEFT_DEVICE bool fcollect_by_hosts(Member& m, std::byte* dst, const std::byte* src,
                                   std::size_t bytes) {
  const bool small = bytes <= m.payload_bytes();
  if (!small && !m.sync()) return false;
  if (!m.begin()) return false;
  const auto block_of = [&](int rank) { return dst + static_cast<std::size_t>(rank) * bytes; };
  m.port().copy(m.scope(), block_of(m.rank()), src, bytes);
  if (!tell_all_by_hosts(m, src, [&](int rank) {
        return Landing{small ? m.payload(rank) : block_of(rank), bytes};
      }))
    return false;
  m.end_all();
  for (int from = 0; small && from < m.size(); ++from)
    if (from != m.rank()) m.port().copy(m.scope(), block_of(from), m.payload(from), bytes);
  return true;
}

// Binomial tree over virtual ranks (root: 0). The parent of v is v without its lowest bit.
WEFT_HOST_DEVICE constexpr int tree_parent(int v) { return v & (v - 1); }
// Distance to the first, farthest child: the largest power of two below n, or below v's lowest bit.
WEFT_HOST_DEVICE constexpr int tree_reach(int v, int n) {
  const int bound = v == 0 ? n : v & -v;
  int reach = 1;
  while (reach * 2 < bound) reach *= 2;
  return bound > 1 ? reach : 0;
}

// The ways of a broadcast. At the root's host the root is the leader, elsewhere its place decides.
class FromRoot {
 public:
  template <class Member>
  WEFT_DEVICE FromRoot(const Member& m, int root) : hosts_(m.hosts()), root_(root) {
    for (host_ = 0; host_ < hosts_.count(); ++host_)
      for (place_ = 0; place_ < hosts_.size(host_); ++place_)
        if (hosts_.rank(host_, place_) == root) return;
  }
  WEFT_DEVICE const TeamHosts& hosts() const { return hosts_; }
  WEFT_DEVICE bool is_here() const { return host_ == hosts_.mine(); }
  WEFT_DEVICE int leader(int host) const {
    return host == host_ ? root_ : hosts_.leader(host, place_);
  }
  // Hosts by their distance from the root's.
  WEFT_DEVICE int distance() const { return wrapped(hosts_.mine() - host_ + count(), count()); }
  WEFT_DEVICE int leader_at(int distance) const {
    return leader(wrapped(host_ + distance, count()));
  }
  WEFT_DEVICE int count() const { return hosts_.count(); }
  // Members of a host that hear from others, and the place of one among them.
  WEFT_DEVICE int hearers(int host) const { return hosts_.size(host) - (host == host_ ? 1 : 0); }
  WEFT_DEVICE int hearer(int host, int number) const {
    return hosts_.rank(host, number + (host == host_ && number >= place_ ? 1 : 0));
  }
  WEFT_DEVICE int my_number() const {
    return hosts_.place() - (is_here() && hosts_.place() > place_ ? 1 : 0);
  }

 private:
  TeamHosts hosts_;
  int root_, host_ = 0, place_ = 0;
};

// Through slots: a tree of hosts (few hear from the root's), then each leader tells its host.
template <class Member>
WEFT_DEVICE bool broadcast_small_by_hosts(Member& m, std::byte* dst, const std::byte* src,
                                          std::size_t bytes, int root, bool root_too) {
  const FromRoot ways(m, root);
  const TeamHosts& hosts = ways.hosts();
  const bool flat = hosts.count() <= kFlatBroadcast;
  const int leader = ways.leader(hosts.mine());
  const int v = ways.distance();
  if (!m.begin()) return false;
  if (m.rank() != root) {
    const int parent = m.rank() != leader ? leader : ways.leader_at(flat ? 0 : tree_parent(v));
    if (!m.arrived(parent)) return false;
    src = m.payload(parent);
  }
  const auto pass_on = [&](int to) { m.send(m.scope(), to, m.payload(m.rank()), src, bytes); };
  if (m.rank() == leader) {
    for (int child = 1; flat && v == 0 && child < hosts.count(); ++child)
      pass_on(ways.leader_at(child));
    for (int reach = flat ? 0 : tree_reach(v, hosts.count()); reach > 0; reach /= 2)
      if (v + reach < hosts.count()) pass_on(ways.leader_at(v + reach));
    for (int i = 1; i < hosts.mates(); ++i)
      pass_on(hosts.rank(hosts.mine(), wrapped(hosts.place() + i, hosts.mates())));
  }
  if (dst != src && (m.rank() != root || root_too)) m.port().copy(m.scope(), dst, src, bytes);
  return true;
}

// Straight into dst: each member of a host hears a share from the root, and passes it on to the
// others there.
template <class Member>
WEFT_DEVICE bool broadcast_large_by_hosts(Member& m, std::byte* dst, const std::byte* src,
                                          std::size_t bytes, int root, bool root_too) {
  const FromRoot ways(m, root);
  const TeamHosts& hosts = ways.hosts();
  if (!m.sync() || !m.begin()) return false;
  if (m.rank() == root) {
    for (int i = 1; i <= hosts.count(); ++i) {  // my own host last
      const int host = wrapped(hosts.mine() + i, hosts.count());
      const int hearers = ways.hearers(host);
      for (int number = 0; number < hearers; ++number) {
        const Share part = share_of(bytes, hearers, number);
        if (part.bytes > 0)
          m.send(m.scope(), ways.hearer(host, number), dst + part.offset, src + part.offset,
                 part.bytes);
      }
    }
    if (dst != src && root_too) m.port().copy(m.scope(), dst, src, bytes);
    return true;
  }
  const int hearers = ways.hearers(hosts.mine());
  const auto share = [&](int number) { return share_of(bytes, hearers, number); };
  const auto mate = [&](int number) { return ways.hearer(hosts.mine(), number); };
  const Share mine = share(ways.my_number());
  if (mine.bytes > 0) {
    if (!m.arrived(root)) return false;
    for (int i = 1; i < hearers; ++i)
      m.send(m.scope(), mate(wrapped(ways.my_number() + i, hearers)), dst + mine.offset,
             dst + mine.offset, mine.bytes);
  }
  for (int number = 0; number < hearers; ++number)
    if (number != ways.my_number() && share(number).bytes > 0 && !m.arrived(mate(number)))
      return false;
  return true;
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
