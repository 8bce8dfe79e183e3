#include "bootstrap/tcp/exchange.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/wire.hpp"

namespace weft::tcp {

int rounds_of(int npes) { return std::bit_width(static_cast<unsigned>(npes - 1)); }

int behind(int pe, int npes, int round) {
  const int distance = 1 << round;
  return pe >= distance ? pe - distance : pe - distance + npes;
}

int ahead(int pe, int npes, int round) {
  const int distance = 1 << round;
  return npes - pe > distance ? pe + distance : pe + distance - npes;
}

Exchange::Exchange(int pe, int npes, Call call, std::span<const std::byte> mine)
    : pe_(pe), npes_(npes), call_(call) {
  if (call_.call != Rendezvous::Call::kAllgather) return;
  net::Writer out;
  out.bytes(mine);
  blocks_ = out.take();
  ends_.push_back(blocks_.size());
}

int Exchange::blocks_in(int round) const {
  if (call_.call != Rendezvous::Call::kAllgather) return 0;
  return std::min(1 << round, npes_ - (1 << round));
}

net::Bytes Exchange::send() {
  net::Writer out;
  out.raw(encode(call_));
  if (const int count = blocks_in(sent_++); count > 0) {
    out.raw(std::span(blocks_).first(ends_[static_cast<std::size_t>(count) - 1]));
  }
  return out.take();
}

Status Exchange::take(std::span<const std::byte> payload) {
  const std::size_t head = encode(call_).size();
  const auto theirs = decode_call(payload.first(std::min(head, payload.size())));
  if (!theirs) return theirs.status();
  if (theirs->call != call_.call || theirs->sequence != call_.sequence) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("PE {} is in {} (call {}) while PE {} is in {} (call {})",
                                     ahead(pe_, npes_, received_), to_string(theirs->call),
                                     theirs->sequence, pe_, to_string(call_.call), call_.sequence));
  }
  const auto blocks = payload.subspan(head);
  net::Reader in(blocks);
  const std::size_t before = blocks_.size();
  for (int i = 0; i < blocks_in(received_); ++i) {
    (void)in.bytes();
    ends_.push_back(before + blocks.size() - in.left());
  }
  if (!in.complete()) {
    return Status::error(Code::kIo, fmt::format("malformed blocks of {} bytes", payload.size()));
  }
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  ++received_;
  return Status::ok();
}

std::vector<Blob> Exchange::gathered() const {
  std::vector<Blob> all(static_cast<std::size_t>(npes_));
  net::Reader in(blocks_);
  for (int i = 0; i < npes_; ++i) {
    const auto block = in.bytes();
    all[static_cast<std::size_t>((pe_ + i) % npes_)].assign(block.begin(), block.end());
  }
  return all;
}

}  // namespace weft::tcp
