// Grids of host threads without libweft: what a litmus program needs to be compiled alone, in a
// second. Tests that link the library use dev::launch.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include <weft/device/cpu_grid.hpp>

#include <weft/dev/platform.hpp>

namespace weft::test {

// Runs kernel(pe) on every thread of one grid per PE, all at once.
template <class Kernel>
void run_grids(int npes, unsigned blocks, unsigned threads, Kernel kernel) {
  const unsigned warps = (threads + cpu::kWarpSize - 1) / cpu::kWarpSize;
  struct Arena {
    cpu::BlockState block;
    std::vector<cpu::Barrier> warp_barriers;
    std::vector<std::uint64_t> exchange;
  };
  std::vector<Arena> arenas(static_cast<std::size_t>(npes) * blocks);
  std::vector<std::thread> all;
  for (int pe = 0; pe < npes; ++pe)
    for (unsigned b = 0; b < blocks; ++b) {
      Arena& arena = arenas[static_cast<std::size_t>(pe) * blocks + b];
      arena.warp_barriers.resize(warps);
      arena.exchange.resize(2 * static_cast<std::size_t>(threads));
      arena.block.warp_barriers = arena.warp_barriers.data();
      arena.block.exchange = arena.exchange.data();
      for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([=, &arena] {
          cpu::ThreadState state;
          state.thread = t;
          state.threads = threads;
          state.block = b;
          state.blocks = blocks;
          state.shared = &arena.block;
          const dev::platform::Identity identity(state);
          kernel(pe);
        });
    }
  for (std::thread& thread : all) thread.join();
}

}  // namespace weft::test
