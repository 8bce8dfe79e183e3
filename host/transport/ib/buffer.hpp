// Buffer: registered memory of the transport's own, into which is received.
#pragma once

#include <cstddef>

#include "host/transport/ib/port.hpp"

namespace weft::ib {

class Buffer {
 public:
  static Result<Buffer> make(const Port& port, std::size_t bytes) {
    Buffer made;
    const auto add = [&](std::byte* base, std::size_t size) -> Result<network::Registered> {
      ASSIGN_OR_RETURN(Handle<ibv_mr> region, port.add_memory(base, size, IBV_ACCESS_LOCAL_WRITE));
      network::Registered registered;
      registered.local_keys[0] = region->lkey;
      registered.hold = std::shared_ptr<ibv_mr>(std::move(region));
      return registered;
    };
    ASSIGN_OR_RETURN(made.memory_, network::Buffer::make(bytes, add));
    return made;
  }
  std::byte* base() const { return memory_.base(); }
  std::uint64_t key() const { return memory_.key(); }

  // One receive into `bytes` bytes at `at`, which lies here; `post(request, bad)` posts it.
  template <class Post>
  Status receive(const Port& port, std::uint64_t wr_id, const std::byte* at, std::size_t bytes,
                 Post post) const {
    ibv_sge there{reinterpret_cast<std::uint64_t>(at), static_cast<std::uint32_t>(bytes),
                  static_cast<std::uint32_t>(memory_.key())};
    ibv_recv_wr request{};
    request.wr_id = wr_id;
    request.sg_list = &there;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    const int error = post(&request, &bad);
    return error == 0 ? Status::ok() : failure("receive", port.name(), error);
  }

 private:
  network::Buffer memory_;
};

}  // namespace weft::ib
