// What PEs tell each other besides the bytes of large puts and gets. Plain; both ends are one
// build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/dev/op.hpp>

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

struct Header {
  enum class Kind : std::uint8_t { kRequest = 1, kAnswers };
  std::uint64_t key = 0;   // of the PE that this goes to, who believes no other
  std::uint32_t from = 0;  // PE
  std::uint16_t lane = 0;  // of the PE that asks
  Kind kind = Kind::kRequest;
  std::uint8_t count = 0;  // of answers
};

// An op that the owner of the heap executes: an atomic; a get of one word; a put whose bytes come
// along, or without any, and its notify.
struct Request {
  static constexpr std::size_t kPayload = 128;
  Header header;
  std::uint64_t ticket = 0;  // the asker's flight
  std::uint64_t remote = 0;
  std::uint64_t value = 0;
  std::uint64_t compare = 0;
  std::uint64_t signal = 0;
  std::uint32_t bytes = 0;
  OpKind kind = OpKind::kNone;
  NotifyOp notify = NotifyOp::kNone;
  std::uint8_t width = 0;
  std::uint8_t spare = 0;
  std::array<std::byte, kPayload> payload;  // only what is used of it travels

  std::size_t size() const {
    return offsetof(Request, payload) + (kind == OpKind::kPut ? bytes : 0);
  }
};

struct Answer {
  std::uint64_t ticket = 0;
  std::uint64_t old = 0;  // or the word that was asked for
  std::uint32_t lane = 0;
  std::uint32_t refused = 0;  // it does not exist there
};
struct Answers {
  static constexpr std::size_t kMost = 7;
  Header header;
  std::array<Answer, kMost> answers;

  std::size_t size() const { return sizeof(Header) + header.count * sizeof(Answer); }
};

static_assert(std::is_standard_layout_v<Request> && sizeof(Request) <= kMessageBytes);
static_assert(sizeof(Answers) <= kMessageBytes);

}  // namespace weft::ofi
