// One PE's side of an allgather or barrier in log2(n) rounds, without a centre (Bruck et al.): in
// round r it sends to the PE 2^r behind what it has, and gets as much from the PE 2^r ahead.
//
// Per PE, for n PEs that bring b bytes each: ceil(log2 n) frames out and in, (n - 1)(8 + b) bytes
// of blocks in each direction, n(8 + b) bytes held. A barrier is the same without blocks.
//
// Pure state: who moves the payloads is not its concern.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <weft/result.hpp>

#include "bootstrap/tcp/protocol.hpp"

namespace weft::tcp {

int rounds_of(int npes);
// The PE to which `pe` sends in that round, and the one from which it receives.
int behind(int pe, int npes, int round);
int ahead(int pe, int npes, int round);

class Exchange {
 public:
  Exchange(int pe, int npes, Call call, std::span<const std::byte> mine);

  const Call& call() const { return call_; }
  int rounds() const { return rounds_of(npes_); }
  int sent() const { return sent_; }
  int received() const { return received_; }
  bool complete() const { return sent_ == rounds() && received_ == rounds(); }
  // Round r goes out once r rounds have come in.
  bool can_send() const { return sent_ < rounds() && sent_ <= received_; }
  net::Bytes send();
  // Takes the payload of the next round. kInvalidArgument: the sender is in another call.
  Status take(std::span<const std::byte> payload);
  // Everybody's bytes in PE order, after an allgather is complete.
  std::vector<Blob> gathered() const;

 private:
  int blocks_in(int round) const;

  const int pe_;
  const int npes_;
  const Call call_;
  int sent_ = 0;
  int received_ = 0;
  // The blocks of pe, pe + 1, ... one behind the other, each with its length in front; as they
  // travel.
  net::Bytes blocks_;
  std::vector<std::size_t> ends_;  // of each block
};

}  // namespace weft::tcp
