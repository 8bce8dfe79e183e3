// Work: requests as the device takes them, made of an op for one port.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/transport/ib/messages.hpp"
#include "host/transport/network/heaps.hpp"

namespace weft::ib {

struct Work {
  ibv_send_wr request{};
  ibv_sge bytes{};
};

// Registered memory of mine; without a key: bytes that go along in the request.
struct Piece {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  bool is_inline = false;
};
inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

// Whether the device does this atomic itself where it may: one of a word of 64 bits that adds,
// compares or looks.
bool is_native(const Op& op);

// A put whose notify is an atomic.
inline bool adds(const Op& op) { return op.kind == OpKind::kPut && op.notify == NotifyOp::kAdd; }

class WorkList {
 public:
  using There = network::Heaps::There;

  void clear() { list_.clear(); }
  std::span<Work> all() { return list_; }
  // One request for each part of the target's memory.
  void transfer(ibv_wr_opcode opcode, std::span<const There> parts, const Piece& mine);
  // A request to the owner of a word; `request` must stay until it is handed over.
  void message(const Request& request);
  // The device's own; the old value comes to `old`.
  void atomic(const Op& op, const There& word, const Piece& old);
  // A word of the device's, changed if it is as expected.
  void compare_swap(std::uint64_t expected, std::uint64_t desired, const There& word,
                    const Piece& old);
  // The add of a put's notify, likewise.
  void add(std::uint64_t value, const There& word, const Piece& old);

 private:
  std::vector<Work> list_;
};

}  // namespace weft::ib
