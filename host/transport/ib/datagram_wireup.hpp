// Datagrams (UD): how PEs reach one another before any queue pairs are connected.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "host/transport/ib/buffer.hpp"
#include "host/transport/ib/messages.hpp"

namespace weft::ib {

class Datagrams {
 public:
  // Messages that come in complete on `received`, with wr_ids from `first` on.
  static Result<std::unique_ptr<Datagrams>> create(const Port& port, std::size_t rail,
                                                   ibv_cq* received, std::uint64_t first);

  std::uint32_t number() const { return qp_->qp_num; }
  static constexpr int kReceives = 64;

  // To everybody, once their addresses are known; before the first send().
  void know(const std::vector<PeAddress>& peers) { peers_ = &peers; }
  // To one that has that rail; by any thread. One that is lost is the receiver's to miss and the
  // sender's to repeat.
  Status send(int pe, const ConnectMessage& message);

  // The message that came with a wr_id. By one thread, which then gives the buffer back.
  bool read(const ibv_wc& done, ConnectMessage* message) const;
  Status post_receive(std::uint64_t wr_id);

 private:
  // The network puts a header of its own before what came.
  static constexpr std::size_t kHeader = 40, kReceiveBytes = 256;
  static constexpr int kSends = 64;

  Datagrams(const Port& port, std::size_t rail, std::uint64_t first)
      : port_(port), rail_(rail), first_(first) {}
  const ServiceAddress& endpoint_of(int pe) const {
    return (*peers_)[static_cast<std::size_t>(pe)].endpoints[rail_];
  }
  Status open(ibv_cq* received);
  Status start();
  Result<ibv_ah*> way_to(int pe);
  std::byte* receive_buffer(std::uint64_t wr_id) const {
    return buffer_.base() + (wr_id - first_) * kReceiveBytes;
  }

  const Port& port_;
  const std::size_t rail_;
  const std::uint64_t first_;
  const std::vector<PeAddress>* peers_ = nullptr;
  Buffer buffer_;
  std::mutex mutex_;  // of sending
  int outstanding_ = 0;
  Handle<ibv_cq> sent_ = no_handle<ibv_cq>();
  Handle<ibv_qp> qp_ = no_handle<ibv_qp>();
  std::vector<Handle<ibv_ah>> ways_;  // per PE; made when wanted
};

}  // namespace weft::ib
