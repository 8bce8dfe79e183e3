// MappedTransport: what loopback, p2p and staged have in common. A peer's heap lies in my address
// space, so an op is executed when it is posted.
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

  // `pe`'s chunk at `offset` is the last of its kind, heap or adopted: ops may touch both kinds up
  // to their last bytes from now on. 0 bytes take the chunk away.
  void map(int pe, std::byte* heap, std::uint64_t offset, std::uint64_t bytes);
  std::byte* base_of(int pe) const;
  // Memory there lies apart from the heap, at each PE elsewhere.
  bool lies_apart(std::uint64_t offset) const {
    return offset >= env_.adopted_at && !env_.platform->adopts_where_told();
  }
  // Whether carry_out() works with this platform's memory; by default it loads and stores.
  virtual bool carries() const;
  // Executes an op, no fence, that check() has passed, on the target whose offset 0 is at `heap`.
  virtual Status carry_out(const Op& op, std::byte* heap);
  const TransportEnv& env() const { return env_; }

 private:
  // Growth of the heap maps while other threads post: the ends are released after `heap`.
  struct Window {
    std::atomic<std::byte*> heap{nullptr};
    std::atomic<std::uint64_t> end{0};
    std::atomic<std::uint64_t> adopted_end{0};
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
