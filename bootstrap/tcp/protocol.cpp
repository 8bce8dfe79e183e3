#include "bootstrap/tcp/protocol.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/wire.hpp"

namespace weft::tcp {
namespace {

using net::malformed;
using net::Reader;
using net::Writer;

void write(Writer& out, const Rendezvous::Member& member) {
  out.u64(static_cast<std::uint64_t>(member.pid));
  out.text(member.host);
}

Rendezvous::Member read_member(Reader& in) {
  Rendezvous::Member member;
  member.pid = static_cast<std::int64_t>(in.u64());
  member.host = in.text();
  return member;
}

Nonce read_nonce(Reader& in) {
  Nonce nonce{};
  const auto bytes = in.raw(nonce.size());
  if (in.good()) std::ranges::copy(bytes, nonce.begin());
  return nonce;
}

void write(Writer& out, const Contact& contact) {
  out.text(contact.address.host);
  out.u32(contact.address.port);
  out.raw(contact.nonce);
}

Contact read_contact(Reader& in) {
  Contact contact;
  contact.address.host = in.text();
  contact.address.port = static_cast<std::uint16_t>(in.u32());
  contact.nonce = read_nonce(in);
  return contact;
}

}  // namespace

net::Bytes encode(const Hello& hello) {
  Writer out;
  out.u32(hello.protocol);
  out.text(hello.version);
  out.raw(hello.nonce);
  return out.take();
}

Result<Hello> decode_hello(std::span<const std::byte> payload) {
  Reader in(payload);
  Hello hello;
  hello.protocol = in.u32();
  hello.version = in.text();
  if (in.good() && hello.protocol != kProtocol) return hello;
  hello.nonce = read_nonce(in);
  if (in.left() == sizeof(Secret)) (void)in.raw(sizeof(Secret));
  if (!in.complete()) return malformed("hello", payload.size());
  return hello;
}

net::Bytes encode(const Join& join) {
  Writer out;
  out.u32(static_cast<std::uint32_t>(join.pe));
  out.u32(static_cast<std::uint32_t>(join.npes));
  write(out, join.member);
  write(out, join.contact);
  return out.take();
}

Result<Join> decode_join(std::span<const std::byte> payload) {
  Reader in(payload);
  Join join;
  join.pe = static_cast<int>(in.u32());
  join.npes = static_cast<int>(in.u32());
  join.member = read_member(in);
  join.contact = read_contact(in);
  if (!in.complete()) return malformed("join", payload.size());
  return join;
}

net::Bytes encode(const Call& call) {
  Writer out;
  out.u8(static_cast<std::uint8_t>(call.call));
  out.u64(call.sequence);
  return out.take();
}

Result<Call> decode_call(std::span<const std::byte> payload) {
  Reader in(payload);
  Call call;
  call.call = static_cast<Rendezvous::Call>(in.u8());
  call.sequence = in.u64();
  const bool known =
      call.call == Rendezvous::Call::kAllgather || call.call == Rendezvous::Call::kBarrier;
  if (!in.complete() || !known) return malformed("call", payload.size());
  return call;
}

net::Bytes encode(const Abort& abort) {
  Writer out;
  out.u32(static_cast<std::uint32_t>(abort.code));
  out.text(abort.why);
  return out.take();
}

Result<Abort> decode_abort(std::span<const std::byte> payload) {
  Reader in(payload);
  Abort abort;
  abort.code = static_cast<int>(in.u32());
  abort.why = in.text();
  if (!in.complete()) return malformed("abort", payload.size());
  return abort;
}

net::Bytes encode(const Accepted& accepted) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(accepted.timeout_s * 1e6));
  write(out, accepted.server);
  return out.take();
}

Result<Accepted> decode_accepted(std::span<const std::byte> payload) {
  Reader in(payload);
  Accepted accepted;
  accepted.timeout_s = static_cast<double>(in.u64()) * 1e-6;
  accepted.server = read_member(in);
  if (!in.complete()) return malformed("welcome", payload.size());
  return accepted;
}

net::Bytes encode(const Handshake& handshake) {
  Writer out;
  out.u32(static_cast<std::uint32_t>(handshake.pe));
  out.raw(handshake.nonce);
  return out.take();
}

Result<Handshake> decode_handshake(std::span<const std::byte> payload) {
  Reader in(payload);
  Handshake handshake;
  handshake.pe = static_cast<int>(in.u32());
  handshake.nonce = read_nonce(in);
  if (!in.complete()) return malformed("handshake", payload.size());
  return handshake;
}

net::Bytes encode_challenge(const Nonce& nonce) { return net::Bytes(nonce.begin(), nonce.end()); }

Result<Nonce> decode_challenge(std::span<const std::byte> payload) {
  Reader in(payload);
  const Nonce nonce = read_nonce(in);
  if (!in.complete()) return malformed("challenge", payload.size());
  return nonce;
}

net::Bytes encode_leave(std::uint64_t calls) {
  Writer out;
  out.u64(calls);
  return out.take();
}

Result<std::uint64_t> decode_leave(std::span<const std::byte> payload) {
  Reader in(payload);
  const std::uint64_t calls = in.u64();
  if (!in.complete()) return malformed("leave", payload.size());
  return calls;
}

net::Bytes encode_start(const std::vector<Contact>& contacts) {
  Writer out;
  for (const Contact& contact : contacts) write(out, contact);
  return out.take();
}

Result<std::vector<Contact>> decode_start(std::span<const std::byte> payload) {
  Reader in(payload);
  std::vector<Contact> contacts;
  while (in.left() > 0) contacts.push_back(read_contact(in));
  if (!in.complete()) return malformed("start", payload.size());
  return contacts;
}

net::Bytes encode(const Status& status) {
  Writer out;
  out.u8(static_cast<std::uint8_t>(status.code()));
  out.text(status.text());
  return out.take();
}

Status decode_status(std::span<const std::byte> payload) {
  Reader in(payload);
  const std::uint8_t code = in.u8();
  std::string text = in.text();
  if (!in.complete() || code > static_cast<std::uint8_t>(Code::kInternal)) {
    return malformed("status", payload.size());
  }
  if (code == 0) return Status::ok();
  return Status::error(static_cast<Code>(code), std::move(text));
}

}  // namespace weft::tcp
