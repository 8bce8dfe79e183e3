// What PEs and the rendezvous server say to each other, one frame per message. Pure: bytes to
// values and back; whatever comes from the network is checked here.
//
//   PE: Hello → server: Accepted, later Done 0 when everybody has come
//   PE: Call n → server: Done n with what everybody brought
//   PE: Leave → server: Left when everybody has left
//   PE: Abort; server to everybody, at any time: Failed, with the first reason why the job ended
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <weft/result.hpp>

#include "bootstrap/meeting.hpp"
#include "bootstrap/tcp/secret.hpp"
#include "src/net/frame.hpp"

namespace weft::tcp {

// Changes with any change of a message. The first two fields of Hello never change, so that any two
// versions can tell each other what they are.
inline constexpr std::uint32_t kProtocol = 1;

inline constexpr std::uint64_t kMostHelloBytes = 4096;  // of a stranger
inline constexpr std::uint64_t kMostWelcomeBytes = 65536;
inline constexpr std::uint64_t kMostBlobBytes = std::uint64_t{64} << 20;  // one PE's in allgather
inline constexpr std::uint64_t kMostGatheredBytes = std::uint64_t{1} << 30;  // everybody's

enum class Message : std::uint32_t {
  kHello = 1,
  kCall = 2,
  kLeave = 3,
  kAbort = 4,
  kAccepted = 16,
  kDone = 17,
  kFailed = 18,
  kLeft = 19,
};

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;
  Secret secret{};
  int pe = 0;
  int npes = 0;
  Meeting::Member member;
};

struct Call {
  Meeting::Call call = Meeting::Call::kBarrier;
  std::uint64_t sequence = 0;
  std::span<const std::byte> mine;  // inside the frame
};

struct Abort {
  int code = 0;
  std::string why;
};

// The server's patience and who it is.
struct Accepted {
  double timeout_s = 0;
  Meeting::Member server;
};

struct Done {
  std::uint64_t sequence = 0;
  std::vector<Blob> gathered;
};

net::Bytes encode(const Hello& hello);
net::Bytes encode(const Call& call);
net::Bytes encode(const Abort& abort);
net::Bytes encode(const Accepted& accepted);
net::Bytes encode_done(std::uint64_t sequence, const std::vector<Blob>& gathered);
net::Bytes encode(const Status& status);  // Failed and Left

// A Hello of another protocol has only protocol and version.
Result<Hello> decode_hello(std::span<const std::byte> payload);
Result<Call> decode_call(std::span<const std::byte> payload);
Result<Abort> decode_abort(std::span<const std::byte> payload);
Result<Accepted> decode_accepted(std::span<const std::byte> payload);
Result<Done> decode_done(std::span<const std::byte> payload, int npes);
// The status in the message, or why there is none: either way what the receiver returns.
Status decode_status(std::span<const std::byte> payload);

}  // namespace weft::tcp
