// MappedTransport: what loopback and p2p have in common. A peer's heap lies in my address space, so
// an op is executed when it is posted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/transport/transport.hpp"

namespace weft {

class MappedTransport : public Transport {
 public:
  const Caps& caps() const override { return caps_; }
  Status check(const Op& op) const override;
  Status post(Lane lane, const Op& op) override;
  Status progress(Lane) override { return Status::ok(); }
  std::uint64_t completed(Lane lane) const override;
  Status flush(Lane) override { return Status::ok(); }

 protected:
  MappedTransport(const TransportEnv& env, const Caps& caps);

  // Ops to `pe` may touch [heap, heap + bytes) from now on.
  void map(int pe, std::byte* heap, std::uint64_t bytes);
  std::byte* base_of(int pe) const;
  const TransportEnv& env() const { return env_; }

 private:
  // Growth of the heap maps while other threads post: `bytes` is released after `heap`.
  struct Window {
    std::atomic<std::byte*> heap{nullptr};
    std::atomic<std::uint64_t> bytes{0};
  };
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
  };

  TransportEnv env_;
  Caps caps_;
  std::vector<Window> windows_;
  std::array<Counter, kTransportLanes> completed_;
};

}  // namespace weft
