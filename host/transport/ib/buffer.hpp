// Buffer: registered memory of the transport's own.
#pragma once

#include <cstddef>
#include <new>

#include "host/transport/ib/port.hpp"

namespace weft::ib {

class Buffer {
 public:
  static Result<Buffer> make(const Port& port, std::size_t bytes) {
    Buffer made;
    made.memory_.reset(new (std::align_val_t{kAlign}, std::nothrow) std::byte[bytes]);
    if (made.memory_ == nullptr)
      return Status::error(Code::kOutOfMemory, "no memory left for RDMA's buffers");
    ASSIGN_OR_RETURN(made.registered_,
                     port.add_memory(made.memory_.get(), bytes, IBV_ACCESS_LOCAL_WRITE));
    return made;
  }
  std::byte* base() const { return memory_.get(); }
  std::uint32_t key() const { return registered_->lkey; }

  // One receive into `bytes` bytes at `place`, which lies here; `post(request, bad)` posts it.
  template <class Post>
  Status receive(const Port& port, std::uint64_t wr_id, const std::byte* place, std::size_t bytes,
                 Post post) const {
    ibv_sge there{reinterpret_cast<std::uint64_t>(place), static_cast<std::uint32_t>(bytes), key()};
    ibv_recv_wr request{};
    request.wr_id = wr_id;
    request.sg_list = &there;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    const int error = post(&request, &bad);
    return error == 0 ? Status::ok() : failure("receive", port.name(), error);
  }

 private:
  static constexpr std::size_t kAlign = 4096;
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{kAlign});
    }
  };

  std::unique_ptr<std::byte[], Free> memory_;
  Handle<ibv_mr> registered_ = no_handle<ibv_mr>();
};

}  // namespace weft::ib
