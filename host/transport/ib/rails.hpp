// Rails: the ports that a PE uses side by side, opened. The first of one PE speaks to the first of
// another, the second to the second, as far as both have them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <weft/options.hpp>

#include "host/transport/ib/messages.hpp"
#include "host/transport/network/gpu_memory.hpp"

namespace weft::ib {

using network::kMostRails;

// Where a PE sits: the NUMA node, and its place among the PEs of this host that sit there.
struct Seat {
  int numa_node = -1;  // -1: not known
  int rank = 0;
};

class Rails {
 public:
  // The ports that WEFT_IB_DEVICE names, else the nearest that can be used and its equals, at most
  // WEFT_IB_RAILS. In the order of the system's list, not in that of preference: so PEs of a host
  // that have the same have them in one order.
  static Result<Rails> open(const Options& options, const Seat& seat);

  std::span<const Port> ports() const { return ports_; }
  // The one that all goes by but pieces: PEs of a host begin with equal ones in turn.
  std::size_t first() const { return first_; }
  // How many lead to a PE.
  std::size_t to(const PeAddress& peer) const;
  // Why none does; "" if one does.
  std::string why_not(const PeAddress& peer) const;
  // "mlx5_0 port 1, RoCE v2 (10.0.0.1) by GID 3: same NUMA node, and mlx5_1 port 1, ..."
  std::string describe() const;

  // Memory of the transport's own, and that of my heap, with keys for every port.
  Result<network::Registered> add_own(std::byte* base, std::size_t bytes) const;
  Result<network::Registered> add_heap(std::byte* base, std::size_t bytes) const;
  // Registers memory of a GPU, on whose words no device does atomics. Lives no longer than this.
  network::Registrar gpu_registrar() const;

 private:
  template <class Make>
  Result<network::Registered> add(const std::byte* base, Make make) const;

  std::vector<Port> ports_;
  std::size_t first_ = 0;
};

}  // namespace weft::ib
