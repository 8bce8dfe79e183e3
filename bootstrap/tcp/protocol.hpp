// Messages between PEs and the rendezvous server, and of PEs among themselves, one frame each.
// Pure: bytes to values and back; whatever comes from the network is checked here.
//
//   PE: Hello → server: Challenge → PE: Join → server: Accepted, and Start when everybody has come
//   PE: Waiting or Late, in a call that lasts
//   PE: Leave → server: Left when everybody has left
//   PE: Abort; server to everybody, at any time: Failed, with the first reason why the job ended
//
//   PE: Handshake → the PE behind it: Welcome; then Blocks, one per call (see exchange.hpp)
//
// Hello, Join, Accepted, Handshake and Welcome carry a proof of the job's secret (see seal.hpp). A
// caller's first message does, so whoever does not know the secret never gets beyond it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/tcp/secret.hpp"
#include "src/net/address.hpp"
#include "src/net/frame.hpp"

namespace weft::tcp {

// Changes with any change of a message. The first two fields of Hello never change, so that any two
// versions can tell each other what they are.
inline constexpr std::uint32_t kProtocol = 3;

inline constexpr std::uint64_t kMostHelloBytes = 4096;     // of a stranger
inline constexpr std::uint64_t kMostMessageBytes = 65536;  // of a member, and of the server
inline constexpr std::uint64_t kMostBlobBytes = std::uint64_t{64} << 20;  // one PE's in allgather
inline constexpr std::uint64_t kMostGatheredBytes = std::uint64_t{1} << 30;  // everybody's

enum class Message : std::uint32_t {
  kHello = 1,
  kWaiting = 2,
  kLeave = 3,
  kAbort = 4,
  kJoin = 5,
  kLate = 6,
  kAccepted = 16,
  kStart = 17,
  kFailed = 18,
  kLeft = 19,
  kChallenge = 20,
  kHandshake = 32,
  kWelcome = 33,
  kBlocks = 34,
};

// The purpose that each seal names, so that one message is not taken for another.
inline constexpr std::string_view kHelloSeal = "hello";
inline constexpr std::string_view kJoinSeal = "join";
inline constexpr std::string_view kAcceptedSeal = "accepted";
inline constexpr std::string_view kHandshakeSeal = "handshake";
inline constexpr std::string_view kWelcomeSeal = "welcome";

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;
  Nonce nonce{};
};

// Where a PE listens for its neighbours, and the nonce of that side.
struct Contact {
  net::Address address;
  Nonce nonce{};
};

struct Join {
  int pe = 0;
  int npes = 0;
  Rendezvous::Member member;
  Contact contact;
};

// The collective call in which a PE waits.
struct Call {
  Rendezvous::Call call = Rendezvous::Call::kBarrier;
  std::uint64_t sequence = 0;
};

struct Abort {
  int code = 0;
  std::string why;
};

// The server's timeout, and who it is.
struct Accepted {
  double timeout_s = 0;
  Rendezvous::Member server;
};

struct Handshake {
  int pe = 0;
  Nonce nonce{};
};

net::Bytes encode(const Hello& hello);
net::Bytes encode(const Join& join);
net::Bytes encode(const Call& call);
net::Bytes encode(const Abort& abort);
net::Bytes encode(const Accepted& accepted);
net::Bytes encode(const Handshake& handshake);
net::Bytes encode_challenge(const Nonce& nonce);
net::Bytes encode_leave(std::uint64_t calls);
net::Bytes encode_start(const std::vector<Contact>& contacts);
net::Bytes encode(const Status& status);  // Failed and Left

// A Hello of another protocol has only protocol and version. The proof may still be at its end.
Result<Hello> decode_hello(std::span<const std::byte> payload);
Result<Join> decode_join(std::span<const std::byte> payload);
Result<Call> decode_call(std::span<const std::byte> payload);
Result<Abort> decode_abort(std::span<const std::byte> payload);
Result<Accepted> decode_accepted(std::span<const std::byte> payload);
Result<Handshake> decode_handshake(std::span<const std::byte> payload);
Result<Nonce> decode_challenge(std::span<const std::byte> payload);
Result<std::uint64_t> decode_leave(std::span<const std::byte> payload);
Result<std::vector<Contact>> decode_start(std::span<const std::byte> payload);
// The status in the message, or why there is none: either way what the receiver returns.
Status decode_status(std::span<const std::byte> payload);

}  // namespace weft::tcp
