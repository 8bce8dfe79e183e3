// TellKernel and SpreadKernel: a collect on GPUs, where nobody knows how much the others bring when
// it is queued.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/kernel.hpp>

namespace weft::kernel {

// Where my block of a collect goes, and how much all blocks are; kTooManyBytes: too much.
struct Collected {
  std::size_t offset = 0;
  std::size_t all = 0;
};
template <class BytesOf>
WEFT_DEVICE Collected collected(const Team& team, BytesOf bytes_of) {
  Collected sum;
  for (int rank = 0; rank < team.size; ++rank) {
    if (rank == team.rank) sum.offset = sum.all;
    const std::size_t its = bytes_of(rank);
    sum.all = its > kTooManyBytes - sum.all ? kTooManyBytes : sum.all + its;
  }
  return sum;
}

// One block: sends my size and waits for those of the others. Once all have come, every dst is
// ready.
struct TellKernel {
  DeviceContext handle;
  Team team;
  std::byte* dst;
  std::size_t bytes;  // what I bring
  WEFT_DEVICE void operator()() const {
    dev::coll::run(dev::Context(handle), dev::Block{}, team, "collect", [&](auto& m) {
      if (!m.begin()) return false;
      auto* const mine = reinterpret_cast<std::uint64_t*>(m.work(0));
      if (m.scope().rank() == 0) *mine = bytes;
      m.scope().sync();
      m.for_peers(0, m.size(), sizeof(*mine), [&](auto caller, int to) {
        m.send(caller, to, m.payload(m.rank()), mine, sizeof(*mine));
      });
      if (!m.all_arrived(0, m.size())) return false;
      m.end_all();
      const std::size_t all = collected(team, [&](int rank) -> std::size_t {
                                return rank == m.rank() ? bytes : told(m.payload(rank));
                              }).all;
      return m.port().fits(dst, all);
    });
  }
  static WEFT_DEVICE std::size_t told(const std::byte* payload) {
    return *reinterpret_cast<const std::uint64_t*>(payload);
  }
};

// A grid, behind it: puts my block to all members. A barrier must follow.
struct SpreadKernel {
  static constexpr unsigned kMostThreads = 512;
  DeviceContext handle;
  Team team;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  WEFT_DEVICE void operator()() const {
    const TeamLayout layout = team_layout(handle.teams, handle.npes);
    const std::byte* const block = handle.heap + team_block_offset(handle.teams, team.id);
    const auto& header = *reinterpret_cast<const TeamHeader*>(block);
    if (header.broken != 0) return;  // nothing was told
    const Collected where = collected(team, [&](int rank) -> std::size_t {
      return rank == team.rank ? bytes : TellKernel::told(block + layout.payload(header.seq, rank));
    });
    if (where.all == kTooManyBytes || !dev::is_symmetric(handle, dst, where.all)) return;
    const auto blocks = static_cast<int>(dev::grid_size());
    const dev::Share share = dev::share_of(bytes, blocks, static_cast<int>(dev::block_rank()));
    for (int i = 0; i < team.size; ++i) {
      const int pe = team.pe_of(dev::wrapped(team.rank + i, team.size));
      dev::Context(handle).put(dev::Block{}, dst + where.offset + share.offset, src + share.offset,
                               share.bytes, pe);
    }
  }
};

}  // namespace weft::kernel
