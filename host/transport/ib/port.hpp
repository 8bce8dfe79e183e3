// Port: a port of an RDMA device that this PE uses, opened, and the way from it to others.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <weft/result.hpp>

#include "host/transport/ib/verbs.hpp"
#include "host/transport/network/memory.hpp"
#include "src/platform/platform.hpp"

namespace weft::ib {

// How others send to a port. Plain: travels as bytes between PEs of one build.
struct PortAddress {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  std::uint8_t link_layer = 0;  // IBV_LINK_LAYER_...
  std::uint8_t mtu = 0;         // enum ibv_mtu
  std::uint8_t reads = 0;       // reads and atomics that others may have under way to a queue pair
  std::uint8_t atomic_cap = 0;  // enum ibv_atomic_cap: with whom its atomics are atomic
  std::array<char, 72> name{};  // "mlx5_0 port 1", for people
  std::string_view text() const { return name.data(); }
};

struct PortWish {
  std::string device;  // empty: any
  int port = 0;        // 0: any
  std::string reason;  // why it is this one; empty: it was asked for
};

class Port {
 public:
  // The first port that is as wished and can be used.
  static Result<Port> open(const Verbs& verbs, const PortWish& wish, int gid_index);

  const Verbs& verbs() const { return *verbs_; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  const std::string& name() const { return name_; }
  std::uint8_t number() const { return number_; }
  const PortAddress& address() const { return address_; }
  // "mlx5_0 port 1, RoCE v2 (10.0.0.1) by GID 3: same NUMA node": what was chosen, and why.
  std::string describe() const;

  // Why nothing can be sent from here to there; "" if it can.
  std::string why_not(const PortAddress& there) const;
  ibv_ah_attr way_to(const PortAddress& there) const;
  // Reads and atomics that a queue pair from here to there may have under way.
  std::uint8_t reads_to(const PortAddress& there) const;
  // Whether devices do the atomics of 64 bits between the two, or the owner of the word all of
  // them: each end decides alike. Only those that are atomic with the processor's, too, may share
  // a word with it.
  bool has_native_atomics_with(const PortAddress& there) const {
    return address_.atomic_cap == IBV_ATOMIC_GLOB && there.atomic_cap == IBV_ATOMIC_GLOB;
  }
  // From here on the device executes all atomics of 64 bits on my heap, for everybody.
  void own_atomics() { owns_atomics_ = true; }
  // The access that peers have to my heap.
  int heap_access() const;

  Result<Handle<ibv_mr>> add_memory(void* base, std::size_t bytes, int access) const;
  // Memory of a GPU, by the file that its driver exports.
  Result<Handle<ibv_mr>> add_file(const Dmabuf& file, Range memory, int access) const;
  // On no channel if `channel` is null.
  Result<Handle<ibv_cq>> make_cq(int entries, ibv_comp_channel* channel) const;
  Result<Handle<ibv_srq>> make_srq(int entries) const;
  Result<Handle<ibv_qp>> make_qp(ibv_qp_init_attr& wanted) const;
  Status modify(ibv_qp* qp, ibv_qp_attr& attributes, int mask, std::string_view action) const;

 private:
  explicit Port(const Verbs& verbs) : verbs_(&verbs) {}
  Status open_device(ibv_device* device);
  Status open_port(int number);
  Status choose_gid(int wanted);

  const Verbs* verbs_;
  Handle<ibv_context> context_ = no_handle<ibv_context>();
  Handle<ibv_pd> domain_ = no_handle<ibv_pd>();
  std::string name_;
  std::string gid_text_;
  std::string reason_;
  bool owns_atomics_ = false;
  std::uint8_t number_ = 0;
  std::uint8_t gid_index_ = 0;
  ibv_device_attr limits_{};
  PortAddress address_;
};

}  // namespace weft::ib
