// AllToAllV by LL: a round brings header and piece at once, for one latency. The header says how
// many elements are to come, and whether its sender has a second piece for anybody. Where none of
// the peer blocks has, which all find alike, that was all; else what is left follows by Simple.
//
// Threads ask memory for what they need of each member: a barrier for it first, as by Simple, takes
// longer here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_to_all_v/call.hpp"
#include "kernels/collectives/all_to_all_v/simple.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/ll_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct AllToAllVLL : AllToAllVSimple {
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    LLChannel ll(ctx, team, space, "AllToAllV");
    SimpleChannel simple(ctx, team, space, "AllToAllV");
    bool ok = ll.open(), more = false;
    if (ok) {
      ll.enter();
      ok = ll.leave(exchange_ll(ll, &more));
    }
    ll.close(ok);
    if (!ok) return;
    if (!more) return copy_own_from(load_member(team.rank), 1);
    load_members();
    dev::Block{}.sync();
    simple.close(exchange(simple, 1));
  }

 private:
  // A thread receives from so many members at once: more want too many registers.
  static constexpr int kMembers = 4;

  WEFT_DEVICE std::size_t bytes_for(int rank) const { return sizes.send_counts[rank] * element; }
  // The round by LL, which threads go through by themselves. `more`, alike for all threads of all
  // peer blocks: pieces follow by Simple.
  WEFT_DEVICE bool exchange_ll(const LLChannel& channel, bool* more) const {
    pause(Point::kBeforeData);
    for (int rank = 0; rank < team.size; ++rank)
      *more = *more || (rank != team.rank && bytes_for(rank) > at(1));
    ranks_of_mine([&](int rank) {
      if (rank != team.rank) channel.send(rank, 0, sizes.send_counts[rank] << 1 | (*more ? 1 : 0));
    });
    for (int i = 1; i < team.size; ++i) send_piece(channel, channel.other(i));
    copy_own(load_member(team.rank), at(0));
    store_count_by_one(team.rank, sizes.send_counts[team.rank]);
    for (int first = 0; first < team.size; first += kMembers)
      if (!take_pieces(channel, first, more)) return false;
    return true;
  }
  WEFT_DEVICE void send_piece(const LLChannel& channel, int rank) const {
    const std::size_t bytes = bytes_at(at(0), bytes_for(rank));
    const std::byte* const source = m.in + sizes.send_offsets[rank] * element + at(0);
    for (std::size_t u = dev::thread_rank(); u < dev::packed_units(bytes); u += dev::block_size())
      channel.send(rank, kHeaderUnits + u, dev::load_unit(source, bytes, u));
  }
  // By one of the threads, which all know the count.
  WEFT_DEVICE void store_count_by_one(int rank, std::size_t count) const {
    if (dev::thread_rank() == static_cast<unsigned>(rank) % dev::block_size())
      store_count(rank, count);
  }
  // Takes the pieces of kMembers ranks. Every thread reads the headers, which are there when it
  // polls for its units or soon will be: their sender has sent them before.
  WEFT_DEVICE bool take_pieces(const LLChannel& channel, int first, bool* more) const {
    std::uint64_t headers[kMembers] = {}, data[kMembers];
    const auto sends = [&](int k) { return first + k < team.size && first + k != team.rank; };
    const auto header = [&](int k) -> dev::AwaitedLL {
      if (!sends(k)) return {nullptr, -1};
      return channel.awaited(first + k, 0);
    };
    if (!channel.take_these(header, headers)) return false;
    std::size_t most = 0;
    for (int k = 0; k < kMembers; ++k) {
      const std::size_t units = units_of(headers[k]);
      if (units > most) most = units;
      *more = *more || (headers[k] & 1) != 0;
      if (sends(k)) store_count_by_one(first + k, headers[k] >> 1);
    }
    for (std::size_t u = dev::thread_rank(); u < most; u += dev::block_size()) {
      unsigned there = 0;  // bit k: the k-th has this unit
      for (int k = 0; k < kMembers; ++k) there |= (u < units_of(headers[k]) ? 1u : 0u) << k;
      const auto unit = [&](int k) -> dev::AwaitedLL {
        if ((there >> k & 1) == 0) return {nullptr, -1};
        return channel.awaited(first + k, kHeaderUnits + u);
      };
      if (!channel.take_these(unit, data)) return false;
      for (int k = 0; k < kMembers; ++k)
        if ((there >> k & 1) != 0)
          dev::store_unit(m.out + sizes.recv_offsets[first + k] * element + at(0),
                          bytes_of_piece(headers[k]), u, data[k]);
    }
    return true;
  }
  // The bytes of my block's piece.
  WEFT_DEVICE std::size_t bytes_of_piece(std::uint64_t header) const {
    return bytes_at(at(0), (header >> 1) * element);
  }
  WEFT_DEVICE std::size_t units_of(std::uint64_t header) const {
    return dev::packed_units(bytes_of_piece(header));
  }
};

struct AllToAllVByLL {
  static constexpr AlgorithmTraits kTraits{
      Algorithm::kLL, Protocol::kLL, Parts::kOne, Algorithm::kSimple, 1, false, true};
  static Status run(const AllToAllVCall& call, Stream stream) {
    return start_all_to_all_v<AllToAllVLL>(call, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
