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
