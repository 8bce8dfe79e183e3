// Bytes that anybody on the network may send to the rendezvous point or to a PE. First byte: the
// size of the pieces in which the rest arrives. Whatever is sent, nothing may break; a message that
// is understood must read back as itself; and the pieces must make no difference.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/tcp/exchange.hpp"
#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/protocol.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "src/net/frame.hpp"

namespace {

using weft::net::Bytes;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Decoded {
  std::vector<weft::net::Frame> frames;
  std::string error;
};

Decoded decode(std::span<const std::byte> stream, std::size_t piece) {
  Decoded decoded;
  weft::net::FrameDecoder decoder(4096);
  while (!stream.empty()) {
    const auto part = stream.first(std::min(piece, stream.size()));
    stream = stream.subspan(part.size());
    const weft::Status status = decoder.feed(part);
    while (auto frame = decoder.next()) decoded.frames.push_back(std::move(*frame));
    if (!status.is_ok()) {
      decoded.error = status.code() == weft::Code::kIo ? "stopped" : "another code";
      break;
    }
  }
  return decoded;
}

// Every message that a payload can be taken for.
void check_messages(const Bytes& payload) {
  using namespace weft::tcp;
  if (const auto hello = decode_hello(payload); hello && hello->protocol == kProtocol) {
    const Bytes back = encode(*hello);  // without the proof that may follow
    require(std::equal(back.begin(), back.end(), payload.begin()),
            "a hello reads back differently");
  }
  if (const auto call = decode_call(payload)) {
    require(encode(*call) == payload, "a call reads back differently");
  }
  if (const auto abort = decode_abort(payload)) {
    require(encode(*abort) == payload, "an abort reads back differently");
  }
  decode_accepted(payload).status().ignore();  // its seconds are rounded
  if (const auto join = decode_join(payload); join && join->contact.address.port != 0) {
    require(decode_join(encode(*join))->contact.address.host == join->contact.address.host,
            "a join reads back differently");
  }
  if (const auto handshake = decode_handshake(payload)) {
    require(encode(*handshake) == payload, "a handshake reads back differently");
  }
  if (const auto calls = decode_leave(payload)) {
    require(encode_leave(*calls) == payload, "a leave reads back differently");
  }
  if (const auto contacts = decode_start(payload)) {
    require(decode_start(encode_start(*contacts))->size() == contacts->size(),
            "a start reads back differently");
  }
  decode_status(payload).ignore();  // malformed and carried errors look alike
}

// Nobody without the secret says anything that is believed, and a PE takes no blocks that lie.
void check_strangers(const Bytes& payload) {
  using namespace weft::tcp;
  require(!open_seal({}, kJoinSeal, {}, payload), "a seal opened without the secret");
  const Bytes mine(3);
  Exchange exchange(0, 5, Call{weft::Rendezvous::Call::kAllgather, 1}, mine);
  (void)exchange.send();
  while (!exchange.complete() && exchange.take(payload).is_ok()) {
    if (exchange.can_send()) (void)exchange.send();
  }
  if (exchange.complete()) require(exchange.gathered().size() == 5, "blocks are missing");
}

void check_id(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto id = weft::parse_id_text(text);
  if (!id) return require(id.status().text()[0] != '\0', "a refusal without a word");
  const auto again = weft::parse_id_text(to_string(*id));
  require(static_cast<bool>(again), "an id that does not read back");
  require(to_string(*again) == to_string(*id), "an id reads back differently");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto stream = std::as_bytes(std::span(data, size)).subspan(1);
  const Decoded in_pieces = decode(stream, 1 + data[0] % 64);
  const Decoded at_once = decode(stream, size);
  require(in_pieces.error == at_once.error, "the pieces decide whether it is an error");
  require(in_pieces.frames.size() == at_once.frames.size(), "the pieces decide how many frames");
  Bytes again;
  for (std::size_t i = 0; i < at_once.frames.size(); ++i) {
    const auto& frame = at_once.frames[i];
    require(frame.payload == in_pieces.frames[i].payload, "the pieces change a frame");
    const Bytes bytes = weft::net::encode_frame(frame.type, frame.payload);
    again.insert(again.end(), bytes.begin(), bytes.end());
    check_messages(frame.payload);
  }
  require(again.size() <= stream.size() && std::equal(again.begin(), again.end(), stream.begin()),
          "the frames are not those that were sent");
  // Random bytes rarely make a whole frame: take them for a payload and for an id as well.
  check_messages(Bytes(stream.begin(), stream.end()));
  check_strangers(Bytes(stream.begin(), stream.end()));
  check_id(stream);
  return 0;
}
