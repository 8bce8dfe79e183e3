// TeamIds: the team ids that this PE has free, and how members find one that all of them have free.
//
// Threads of a PE may look for ids with different members at once. Two of them must not be promised
// the same id, and neither may hold a lock while it waits for other PEs: their order may be another
// one there. So a try has two exchanges:
//
//   1. Members agree on one of the ids that are free. Nothing is held, so it may take as long as
//      the last member takes to come. No id is free on all: the end, alike for all.
//   2. They agree on one of the ids that are on offer: all that are free, or none. A PE offers to
//      one try at a time. All members are there by now, so the offer is held for as long as
//      messages take.
//
// No id was on offer on all: again, from 1. Some try succeeds in the end: every PE offers to the
// one with the lowest key of those that have come to 2, and keys are ordered alike on all PEs.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <weft/result.hpp>

#include "host/team/members.hpp"

namespace weft {

class TeamIds {
 public:
  // Names a try: alike on all members, and different for any two that have a PE in common at a
  // time: a parent's id for its members, else the heap offset of the words they find each other in.
  enum KeyKind { kParent, kWords };
  using Key = std::pair<KeyKind, std::uint64_t>;
  using Bits = std::vector<std::uint64_t>;
  // Collective: the lowest bit that is set on all members; -1: none.
  using LowestOfAll = std::function<Result<int>(const Bits& mine)>;

  explicit TeamIds(int ids) : free_(ids) {}  // all free

  void take(int id);
  void give(int id);
  // Collective over the members: an id that all had free; -1: there is none. It is this PE's then,
  // if `takes` it; who will not be in the team only has its say.
  Result<int> agree(Key key, bool takes, const LowestOfAll& lowest_of_all);

 private:
  class Try;

  std::mutex mutex_;  // guards what follows; never held while waiting
  IdMask free_;
  std::set<Key> waiting_;     // tries that have come to their second exchange
  bool is_offering_ = false;  // to one of them
};

}  // namespace weft
