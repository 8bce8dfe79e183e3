// GpuMemory: a heap of GPU memory as a network serves it. How devices of the network reach it, and
// what is done for others by copies and kernels.
//
// Orders. The owner of the memory is the one who changes its words: an atomic of any PE, and a
// signal that is added to, is a kernel of the owner's GPU, one among those of its own kernels. A
// request begins when the one before it is complete: bytes have been copied, and the stream been
// waited for, before the word is set that tells of them. So a kernel that sees the word, by an
// acquiring load, sees the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/transport/network/memory.hpp"
#include "host/transport/platform_copies.hpp"
#include "host/transport/transport.hpp"

namespace weft::network {

// How a device of the network reaches the memory.
enum class GpuWay : std::uint32_t {
  kDmabuf,  // by a file that the GPU's driver exports
  kPeer,    // by its address, which the network device's driver knows
  kStaged,  // not at all: bytes go through memory of the host
};

// Registers memory with a network.
struct Registrar {
  Register by_address;
  std::function<Result<Registered>(const Dmabuf& file, Range memory)> by_file;
};

class GpuMemory {
 public:
  // Chooses the way by trying; an error if WEFT_GPU_RDMA names one that does not work.
  static Result<std::unique_ptr<GpuMemory>> open(const TransportEnv& env, Registrar registrar);

  GpuWay way() const { return way_; }
  // Which way, and why none before it.
  std::string describe() const;
  // A chunk of the heap; nothing if it is staged.
  Result<Registered> add(Range chunk) const;

  // Whether it lies on a GPU, in the heap or not, where host threads neither load nor store.
  bool holds(const void* address) const;
  // Between memory of any kind; complete on return.
  Status copy(void* dst, const void* src, std::size_t bytes);
  // Executes a checked request of another PE: `target` and `signal` are where its offsets
  // lie, and my side is memory of the host.
  Status execute(const Op& op, std::byte* target, std::byte* signal);

 private:
  GpuMemory(const TransportEnv& env, Registrar registrar, Side own, Side served)
      : platform_(*env.platform),
        heap_(env.heap),
        registrar_(std::move(registrar)),
        own_(std::move(own)),
        served_(std::move(served)) {}
  Status choose(const std::string& wanted);
  Result<Registered> add_by(GpuWay way, Range memory) const;

  Platform& platform_;
  const Range heap_;
  const Registrar registrar_;
  GpuWay way_ = GpuWay::kStaged;
  std::string others_;  // why not
  std::mutex own_mutex_, served_mutex_;
  Side own_;     // for my own ops
  Side served_;  // for what others ask: neither waits for the other
};

}  // namespace weft::network
