// Where what an operator keeps in its symmetric memory lies. A pure function of what all PEs know.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/kernels/plan.hpp>

#include "kernels/protocol/workspace.hpp"

namespace weft::kernels {

struct LayoutProblem {
  Collective what = Collective::kAllReduce;
  std::size_t most_bytes = 0;  // of a message
  std::size_t row_bytes = 0;   // 0: messages have no rows
  int team_size = 1;
  unsigned channels = 1;
  bool gpu = false;
  bool uses_ll = false;       // some may go by LL
  bool uses_lamport = false;  // or by Lamport
  bool has_headers = false;   // sizes are read on the device, and told in headers
};

// Offsets of the parts (workspace.hpp), each at a multiple of what it holds; `rounds` lie apart.
struct Layout {
  std::uint32_t ll_slot = 0, lamport_slot = 0, simple_slot = 0;
  std::uint32_t data_words =
      0;  // of a slot; behind them are those beside (escaped_lamport_channel.hpp)
  std::size_t ll_packets = 0, lamport_words = 0, simple_staging = 0, sums = 0, signals = 0,
              headers = 0;
  std::size_t bytes = 0;  // of all

  // So many bytes of a block's share surely have room, since shares are in whole lines.
  std::size_t lamport_bytes() const;
  // `memory`: of `bytes` at least, at a multiple of 16.
  Workspace workspace(Rounds* rounds, std::byte* memory, unsigned channels) const;
};

// Slots hold what the largest message has for a channel, or as much of that as there is room for.
Layout layout_of(const LayoutProblem& problem);

}  // namespace weft::kernels
