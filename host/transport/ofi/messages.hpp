// Messages of PEs to each other besides the bytes of large puts and gets. Plain; both ends are one
// build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <weft/dev/op.hpp>

#include "host/transport/network/windows.hpp"
#include "host/transport/ofi/choice.hpp"

namespace weft::ofi {

// By the bootstrap, once: how others send to a PE.
struct Way {
  std::array<char, 96> text{};  // "tcp;ofi_rxm on eth0 (192.0.2.2)", for people
  std::array<char, 32> protocol{};
  std::uint32_t format = 0;  // of the name
  std::uint32_t name_bytes = 0;
  std::uint32_t is_loopback = 0;
  std::array<std::byte, 128> name{};  // the endpoint's
};

// A message: this, requests, each with its payload behind it, then answers. All begin at multiples
// of 8 bytes.
struct Header {
  std::uint64_t key = 0;   // of the PE that this goes to, who believes no other
  std::uint32_t from = 0;  // PE
  std::uint16_t requests = 0;
  std::uint16_t answers = 0;
};

// An op that the owner of the heap executes: an atomic; a get of one word; a put whose bytes come
// along, or without any, and its notify. For GPU memory that no device reaches it may be any put or
// get, whose bytes are in a staging slot, or are to be (network/windows.hpp).
struct Request {
  // At most; and where the processor moves the bytes in any case, which the owner then does as well
  // as the provider.
  static constexpr std::size_t kPayload = 128, kLargePayload = 8192;
  std::uint64_t ticket = 0;  // number of the asker's op in flight
  std::uint64_t remote = 0;
  std::uint64_t value = 0;
  std::uint64_t compare = 0;  // of an op by a staging slot: how many bytes
  std::uint64_t signal = 0;
  std::uint16_t bytes = 0;
  std::uint16_t lane = 0;  // of the asker
  OpKind kind = OpKind::kNone;
  NotifyOp notify = NotifyOp::kNone;
  std::uint8_t width = 0;
  std::int8_t staging_slot = network::Windows::kNoStagingSlot;

  std::size_t payload() const { return kind == OpKind::kPut ? bytes : 0; }
  std::size_t size() const { return sizeof(Request) + (payload() + 7) / 8 * 8; }
};
inline constexpr std::size_t kMostRequest = sizeof(Request) + Request::kPayload;

// To several requests of consecutive tickets that brought nothing back, or to one.
struct Answer {
  std::uint64_t ticket = 0;  // the first
  std::uint64_t old = 0;     // or the word that was asked for
  std::uint16_t lane = 0;
  std::uint16_t count = 1;
  std::uint8_t code = 0;  // why not, if it is a failure,
  std::uint8_t has_old = 0;
  std::uint16_t text_bytes = 0;  // in words, behind this and up to a multiple of 8 bytes

  static constexpr std::size_t kMostText = 104;
  std::size_t size() const { return sizeof(Answer) + (text_bytes + 7u) / 8 * 8; }
};
static_assert(sizeof(Header) + sizeof(Answer) + Answer::kMostText <= kInjectBytes);

inline constexpr std::size_t kMessageBytes = 8320;
static_assert(sizeof(Header) + sizeof(Request) + Request::kLargePayload <= kMessageBytes);
static_assert(sizeof(Header) + kMostRequest <= kInjectBytes);

}  // namespace weft::ofi
