// Messages of PEs to each other besides the bytes of puts and gets. Plain; both ends are one build.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <weft/dev/op.hpp>

#include "host/topology/facts.hpp"
#include "host/transport/ib/port.hpp"
#include "host/transport/network/windows.hpp"

namespace weft::ib {

// By the bootstrap, once, for each rail: how a PE is to be reached.
struct ServiceAddress {
  PortAddress port;
  std::uint32_t connect_qp = 0;  // of datagrams
};
// Where a PE is to be found; one that cannot be reached has no endpoints.
struct PeAddress {
  Facts facts;
  std::uint64_t key = 0;  // random; whoever asks this PE for a connection must know it
  std::vector<ServiceAddress> endpoints;  // by rail
};

// By datagram, which may be lost or come twice: how two queue pairs of the rail that it comes by
// find each other. The asker's lane gets one of its own at the other end, which carries nothing but
// what that lane asks for.
struct ConnectMessage {
  // kDisconnect: the sender's queue pair has failed; the other end shall take nothing from it any
  // more, and say what it has taken.
  enum class Kind : std::uint32_t { kRequest = 1, kReply, kReject, kDisconnect, kDisconnected };
  std::uint64_t key = 0;  // of the PE that this goes to
  Kind kind = Kind::kRequest;
  std::int32_t from = 0;    // PE
  std::uint32_t lane = 0;   // of the PE that asked
  std::uint32_t qp = 0;     // the sender's
  std::uint32_t psn = 0;    // of its first packet; kDisconnected: of the first that was not taken
  std::uint32_t asked = 0;  // the queue pair that asked, or failed
  std::uint32_t rail =
      0;  // kDisconnect, kDisconnected: whose that is; by it nothing comes any more
  std::uint32_t known = 0;  // kDisconnected: the device says what was taken
};
inline constexpr std::uint32_t kConnectKey = 0x57656674;  // the Q_Key of datagrams: "Weft"

// On a lane's queue pair: an atomic, which the owner of the word executes. So those of the network
// and of the owner's own threads never mix wrongly. For GPU memory that no device reaches it may
// also be a put or a get, whose bytes are in a staging slot, or are to be (network/windows.hpp).
struct Request {
  std::uint64_t ticket = 0;
  std::uint64_t sequence = 0;  // from 1; one that comes again, by another rail, has the same
  std::uint64_t remote = 0;
  std::uint64_t value = 0;
  std::uint64_t compare = 0;
  std::uint64_t signal = 0;
  std::uint32_t bytes = 0;
  OpKind kind = OpKind::kNone;
  std::uint8_t width = 0;
  NotifyOp notify = NotifyOp::kNone;
  std::int8_t staging_slot = network::Windows::kNoStagingSlot;
};
struct Answer {
  std::uint64_t ticket = 0;
  std::uint64_t old = 0;
  std::uint32_t code = 0;       // why not, if it is a failure,
  std::array<char, 96> text{};  // in words
};

inline constexpr std::uint32_t kInlineBytes = 128;  // that every queue pair takes
static_assert(sizeof(Request) <= kInlineBytes && sizeof(Answer) <= kInlineBytes &&
              sizeof(ConnectMessage) <= kInlineBytes);

}  // namespace weft::ib
