// ReceiveQueue: a shared receive queue and the buffers of what comes in, all of one size.
#pragma once

#include <cstdint>

#include "host/transport/ib/buffer.hpp"

namespace weft::ib {

class ReceiveQueue {
 public:
  // wr_ids from `first` on.
  static Result<ReceiveQueue> make(const Port& port, int count, std::size_t bytes,
                                   std::uint64_t first) {
    ReceiveQueue made;
    made.port_ = &port;
    made.bytes_ = bytes;
    made.first_ = first;
    ASSIGN_OR_RETURN(made.buffer_, Buffer::make(port, static_cast<std::size_t>(count) * bytes));
    ASSIGN_OR_RETURN(made.queue_, port.make_srq(count));
    for (int i = 0; i < count; ++i)
      RETURN_IF_ERROR(made.post(first + static_cast<std::uint64_t>(i)));
    return made;
  }
  ibv_srq* queue() const { return queue_.get(); }
  const std::byte* receive_buffer(std::uint64_t wr_id) const {
    return buffer_.base() + (wr_id - first_) * bytes_;
  }
  // The buffer is free for what comes next.
  Status post(std::uint64_t wr_id) {
    return buffer_.receive(*port_, wr_id, receive_buffer(wr_id), bytes_,
                           [&](ibv_recv_wr* request, ibv_recv_wr** bad) {
                             return ibv_post_srq_recv(queue_.get(), request, bad);
                           });
  }

 private:
  const Port* port_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 0;
  Buffer buffer_;
  Handle<ibv_srq> queue_ = no_handle<ibv_srq>();
};

}  // namespace weft::ib
