// Platform: one kind of memory and the threads beside it. Knows nothing of PEs.
//
// A heap is one reserved Range of address space into which chunks are committed. A chunk can be
// shared: another process opens the blob inside a range of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/device/cpu_grid.hpp>
#include <weft/result.hpp>
#include <weft/stream.hpp>

#include "src/base/unique_fd.hpp"

namespace weft::detail {
enum class GpuKind : unsigned;  // weft/device/launch.hpp
}

namespace weft {

using Blob = std::vector<std::byte>;  // opaque bytes that travel through the bootstrap

struct Range {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// Whatever a platform gives out is released when the object goes away.
class Memory {
 public:
  Memory() = default;
  Memory(Range range, std::shared_ptr<void> owner) : range_(range), owner_(std::move(owner)) {}
  std::byte* base() const { return range_.base; }
  std::size_t bytes() const { return range_.bytes; }
  Range range() const { return range_; }
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  Range range_;
  std::shared_ptr<void> owner_;
};

// A file by which devices of any maker reach memory, and where in it that begins.
struct Dmabuf {
  UniqueFd file;
  std::uint64_t offset = 0;
};

struct MemoryHints {
  bool huge_pages_wanted = true;   // ask where the system allows
  bool huge_pages_needed = false;  // fail without
  bool numa_local = true;          // prefer the calling thread's NUMA node
  std::size_t needed_bytes = 0;    // how much of it is used soon, and must be there; 0: all
};

// A kernel that libweft brings along; its one parameter is a plain struct.
struct Kernel {
  const char* name;  // in the module for GPUs
  std::size_t argument_bytes;
  cpu::Entry on_host;
};

// The step that a stream takes on a word without a kernel.
struct WordStep {
  enum class Kind : std::uint8_t {
    kStore,        // after all that was queued before is visible everywhere
    kWaitEqual,    // what is queued behind begins when *word == value
    kWaitAtLeast,  // when *word - value, as a signed number, is not negative
  };
  Kind kind = Kind::kStore;
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
};

// Every reservation begins at a multiple of this.
inline constexpr std::size_t kReserveAlign = std::size_t{2} << 20;

class Platform {
 public:
  virtual ~Platform() = default;
  virtual std::string_view name() const = 0;  // "cpu", "cuda", "hip"
  // Which of its kind: "GPU 0 (0000:1b:00.0)".
  virtual std::string describe() const { return std::string(name()); }
  // Whether host threads may load and store what commit() and open() give. Else copy() reaches it.
  virtual bool is_host_accessible() const = 0;

  // The bytes that a peer is told, so that it can answer why_not_mapped(). The same size on every
  // platform of a kind.
  virtual Blob identity() const = 0;
  // Why open() cannot map memory of the platform with that identity, which is on this host; "" if
  // it can.
  virtual std::string why_not_mapped(const Blob& peer) const = 0;
  // Memory that open() cannot map may still be in reach of its own platform's copies and kernels,
  // which this process then has beside mine: that of a GPU that mine has no link to. Why it is not,
  // for a platform with that identity, which is on this host; "" if owner() may give that one.
  virtual std::string why_not_owned(const Blob& peer) const;
  virtual Result<Platform*> owner(const Blob& peer);
  // Whether open() maps a peer's chunk where it is told. If not, a reservation has its memory from
  // the beginning (all of it, so reserve little), and open() returns where the chunk lies: the
  // chunks of one of the peer's reservations as they lie there.
  virtual bool maps_where_told() const { return true; }

  // Smallest unit of commit: addresses and sizes of chunks are multiples of it.
  virtual std::size_t granularity() const = 0;
  // Address space only: no memory, no access. Lives until the last chunk in it has gone, too.
  virtual Result<Memory> reserve(std::size_t bytes) = 0;
  // Memory behind `where`, a part of a reservation. Pages are taken when first touched, but what is
  // needed and this machine cannot hold is refused now, with what is there and what was asked.
  // Zeroed. When the result goes away, `where` is bare address space again.
  virtual Result<Memory> commit(Range where, const MemoryHints& hints) = 0;
  // Whether adopt() takes `address`, which is no reservation's: the memory of one of its devices,
  // mine or another.
  virtual bool is_device_memory(const void*) const { return false; }
  // Whether what is adopted lies where adopt() and open() are told. If not, mine stays where it is,
  // and both take no place; open() returns where the peer's lies.
  virtual bool adopts_where_told() const { return true; }
  // The memory that lies behind `own`, whole pages of this process that are no reservation's, from
  // now on lies behind `where`, a part of one, as well, and can be shared like any chunk. Its
  // contents stay; pages that hold zeros only take no memory. Other threads may read it meanwhile,
  // not write. When the result goes away, `own` keeps its contents and is this process's alone
  // again; so it is in a child of fork() from the beginning.
  virtual Result<Memory> adopt(Range own, Range where) = 0;
  // Whether what adopt() gave is what still lies at its addresses: a program may have freed it, and
  // been given the addresses anew.
  virtual bool is_current(const Memory& /*adopted*/) const { return true; }
  // Whether a program has reset the device that it is, and so taken what was there; its streams may
  // not even be destroyed then.
  virtual bool was_reset() const { return false; }
  // Bytes with which a process of this host can open a committed chunk.
  virtual Result<Blob> share(const Memory& chunk) = 0;
  // Maps a peer's chunk at `where`, a part of a reservation of mine.
  virtual Result<Memory> open(const Blob& blob, Range where) = 0;
  // For a device that is to reach memory of mine without the host: a NIC.
  virtual Result<Dmabuf> export_dmabuf(Range memory) const;
  // Memory that both host threads and kernels can load, store and update atomically; zeroed.
  virtual Result<Memory> host_visible(std::size_t bytes) = 0;

  virtual Result<Stream> create_stream() = 0;
  virtual Status destroy_stream(Stream stream) = 0;
  // Queued on the stream; null is the platform's default stream.
  virtual Status copy(void* dst, const void* src, std::size_t bytes, Stream stream) = 0;
  virtual Status zero(Range where, Stream stream) = 0;
  virtual Status synchronize(Stream stream) = 0;
  // Loads kernels before anything runs or is captured, which their first launch could disturb.
  // `nothing`, a kernel that does nothing, becomes the first of the calling thread's own stream and
  // of each stream that is made from now on: a driver may hold a stream's first kernel back until
  // those that run have ended, and they may wait for it.
  virtual Status prepare(std::span<const Kernel* const> kernels, const Kernel& nothing) = 0;
  // Whether there is code for launch(): an error says how it comes to be there.
  virtual Status check_launch() const { return Status::ok(); }
  // Queues `blocks` blocks of `threads` threads; `argument` is copied.
  virtual Status launch(const Kernel& kernel, unsigned blocks, unsigned threads,
                        const void* argument, Stream stream) = 0;
  // Whether word_steps() is there; else a kernel does the same.
  virtual bool has_word_steps() const = 0;
  // Queued one after the other; words are where kernels reach them.
  virtual Status word_steps(std::span<const WordStep> steps, Stream stream) = 0;
  // Whether work queued now is kept for later, and may run many times.
  virtual Result<bool> is_capturing(Stream stream) = 0;
};

// The CPU: memfd memory, blocks of host threads. One per process.
Platform& cpu_platform();

// 128 random bits, made once per process; another value in a forked child. Two PEs that have the
// same are threads of one process and can use each other's addresses as they are.
using Uuid = std::array<std::byte, 16>;
Uuid process_uuid();
// Whether some part of this program holds kernels for such a GPU (weft/device/launch.hpp).
bool has_gpu_kernels(detail::GpuKind kind);
// The same of kernels for host threads, but for libweft's own.
bool has_host_kernels();
Uuid random_uuid();

}  // namespace weft
