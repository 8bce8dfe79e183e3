// CPU target: how a kernel's entry (compiled into the user's program from dev/launch.hpp) and the
// grid engine (in libweft, src/platform/cpu) talk. Users never include it by hand.
//
// A grid is host threads, all blocks at once. A thread reads from its ThreadState which one it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/target.hpp>

namespace weft::cpu {

inline constexpr unsigned kWarpSize = 4;  // small on purpose: code that assumes 32 fails here
inline constexpr unsigned kWarpgroupSize = 4 * kWarpSize;

// A plain counter and phase: ThreadSanitizer sees exactly the order it gives, no more.
struct alignas(64) Barrier {
  std::uint32_t arrived = 0;
  std::uint32_t phase = 0;
};

struct BlockState {
  Barrier barrier;
  Barrier* warp_barriers = nullptr;  // one per warp; the last warp may be short
  Barrier* warpgroup_barriers = nullptr;
  std::uint64_t* exchange = nullptr;  // two words per thread: lane exchange of up to 16 bytes
  std::byte* shared = nullptr;        // dynamic shared memory, 64-byte aligned, not initialised
  std::size_t shared_bytes = 0;
};

struct ThreadState {
  unsigned thread = 0, threads = 1;  // rank in the block, block size
  unsigned block = 0, blocks = 1;
  BlockState* shared = nullptr;
  std::uint32_t spins = 0;  // relax() yields every so often
  bool fenced = false;      // a fence came before: later atomic stores release
};

using Entry = void (*)(const void* kernel, ThreadState& self);

// Queues one grid on `stream`; `kernel` lives until the grid has run. Fails (and runs nothing) when
// the grid is empty or has more threads than WEFT_DEVICE_THREADS or the system allows.
WEFT_API Status launch(unsigned blocks, unsigned threads, std::size_t shared_bytes, Entry entry,
                       std::shared_ptr<const void> kernel, Stream stream);
WEFT_API Status synchronize(Stream stream);
WEFT_API Status create_stream(Stream* stream);
WEFT_API Status destroy_stream(Stream stream);

}  // namespace weft::cpu
