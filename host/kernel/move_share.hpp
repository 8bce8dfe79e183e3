// MoveShareKernel: a broadcast, fcollect or alltoall of medium size on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/kernel.hpp>

#include "host/kernel/block_barrier.hpp"

namespace weft::kernel {

// A collect is of MoveKernel alone, on the CPU target: see spread.hpp.
enum class Moving : std::uint8_t { kBroadcast, kFcollect, kAlltoall, kCollect };

// A grid: each block stores its share of what I have for the members where it belongs there.
struct MoveShareKernel {
  DeviceContext handle;
  Team team;
  std::byte* words;
  Moving what;
  bool root_too;  // a broadcast also writes the root's own dst
  std::int32_t root;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;  // a block of src
  WEFT_DEVICE void operator()() const {
    between_barriers(handle, team, words, name(), [&] {
      if (what != Moving::kBroadcast || team.rank == root) store_share();
    });
  }

 private:
  WEFT_DEVICE void store_share() const {
    const auto block_of = [&](int rank) { return static_cast<std::size_t>(rank) * bytes; };
    const dev::Share share = dev::share_of(bytes, static_cast<int>(dev::grid_size()),
                                           static_cast<int>(dev::block_rank()));
    const bool skips_mine = what == Moving::kBroadcast && !root_too;
    for (int i = 1; i < team.size + (skips_mine ? 0 : 1); ++i) {  // the others first: it is far
      const int rank = dev::wrapped(team.rank + i, team.size);
      const std::byte* const from = src + (what == Moving::kAlltoall ? block_of(rank) : 0);
      std::byte* const to = dst + (what == Moving::kBroadcast ? 0 : block_of(team.rank));
      dev::Context(handle).put(dev::Block{}, to + share.offset, from + share.offset, share.bytes,
                               team.pe_of(rank));
    }
  }
  WEFT_DEVICE const char* name() const {
    if (what == Moving::kBroadcast) return "broadcast";
    return what == Moving::kFcollect ? "fcollect" : "alltoall";
  }
};

}  // namespace weft::kernel
