// A socket that speaks frames. The sending and the receiving side are apart: one thread may use
// each.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "src/net/frame.hpp"
#include "src/net/socket.hpp"

namespace weft::net {

class Channel {
 public:
  Channel(UniqueFd socket, std::string peer, std::uint64_t most_bytes);

  int fd() const { return socket_.get(); }
  const std::string& peer() const { return peer_; }
  // Longest payload that is accepted from now on.
  void set_most(std::uint64_t most_bytes) { decoder_.set_most(most_bytes); }

  // --- never block -------------------------------------------------------------------------
  // Takes a piece of what the socket has, kMostPiece at most. kBusy: nothing there. kPeerLost: the
  // connection ended.
  Status fill();
  static constexpr std::size_t kMostPiece = 16384;
  // Bytes taken so far.
  std::uint64_t received() const { return received_; }
  std::optional<Frame> next() { return decoder_.next(); }
  void queue(std::shared_ptr<const Bytes> frame) { out_.push_back(std::move(frame)); }
  // Sends what the socket takes. kBusy: some is left.
  Status flush();
  bool flushed() const { return out_.empty(); }

  // --- waits -------------------------------------------------------------------------------
  Result<Frame> receive(const Deadline& deadline, std::string_view what);

 private:
  Status lost(std::string_view action, int error) const;

  UniqueFd socket_;
  std::string peer_;
  FrameDecoder decoder_;
  std::uint64_t received_ = 0;
  std::deque<std::shared_ptr<const Bytes>> out_;
  std::size_t sent_ = 0;  // of out_.front()
};

}  // namespace weft::net
