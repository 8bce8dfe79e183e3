#include "python/src/pool.hpp"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <weft/result.hpp>

#include "python/src/errors.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

constexpr std::size_t kAlign = 512;  // as cudaMalloc's

// Hands out pieces of an arena: the lowest that is large enough, so that PEs which ask alike get
// alike. Torch asks for segments, in which it places tensors itself, and gives one back when what
// used it has run.
class Arena {
 public:
  Arena(std::uintptr_t begin, std::size_t bytes) : free_{{begin, bytes}} {}

  void* allocate(std::size_t bytes) {
    const std::size_t some = (bytes + kAlign - 1) / kAlign * kAlign;
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      const auto [begin, room] = *piece;
      if (room < some) continue;
      free_.erase(piece);
      if (room > some) free_.emplace(begin + some, room - some);
      used_.emplace(begin, some);
      return reinterpret_cast<void*>(begin);
    }
    return nullptr;
  }

  void release(void* memory) {
    const auto found = used_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == used_.end()) return;
    auto piece = free_.insert(*found).first;
    used_.erase(found);
    join(piece);
    if (piece != free_.begin()) join(std::prev(piece));
  }

 private:
  using Pieces = std::map<std::uintptr_t, std::size_t>;  // bytes, by where it begins
  // With the free piece that begins where this one ends.
  void join(Pieces::iterator piece) {
    const auto next = std::next(piece);
    if (next == free_.end() || piece->first + piece->second != next->first) return;
    piece->second += next->second;
    free_.erase(next);
  }

  Pieces free_, used_;
};

constexpr std::size_t kArenas = 8;
std::mutex mutex;
std::array<std::optional<Arena>, kArenas> arenas;  // guarded by mutex

void* allocate(std::size_t number, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  return arenas[number] ? arenas[number]->allocate(bytes) : nullptr;  // torch raises out of memory
}

void release(std::size_t number, void* memory) {
  const std::lock_guard lock(mutex);
  if (arenas[number]) arenas[number]->release(memory);
}

int open_pool(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < kArenas; ++i)
    if (!arenas[i]) {
      arenas[i].emplace(address, bytes);
      return static_cast<int>(i);
    }
  raise(Status::error(Code::kOutOfMemory,
                      fmt::format("weft.torch.MemPool: this process has {} pools already, as many "
                                  "as there can be",
                                  kArenas)));
}

void close_pool(std::size_t number) {
  const std::lock_guard lock(mutex);
  arenas.at(number).reset();
}

}  // namespace

void add_pool(nb::module_& m) {
  m.def("open_pool", &open_pool, "address"_a, "bytes"_a);
  m.def("close_pool", &close_pool, "number"_a);
}

// As torch.cuda.memory.CUDAPluggableAllocator calls them: bytes, GPU, stream.
#define WEFT_POOL(number)                                                                        \
  extern "C"                                                                                     \
      [[gnu::visibility("default")]] void* weft_pool_alloc_##number(ssize_t bytes, int, void*) { \
    return allocate(number, static_cast<std::size_t>(bytes));                                    \
  }                                                                                              \
  extern "C" [[gnu::visibility("default")]] void weft_pool_free_##number(void* memory, ssize_t,  \
                                                                         int, void*) {           \
    release(number, memory);                                                                     \
  }
WEFT_POOL(0)
WEFT_POOL(1)
WEFT_POOL(2)
WEFT_POOL(3)
WEFT_POOL(4)
WEFT_POOL(5)
WEFT_POOL(6)
WEFT_POOL(7)
#undef WEFT_POOL

}  // namespace weft::python
