#include "bootstrap/tcp/protocol.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/wire.hpp"

namespace weft::tcp {
namespace {

using net::Reader;
using net::Writer;

Status malformed(std::string_view what, std::size_t bytes) {
  return Status::error(Code::kIo, fmt::format("malformed {} message of {} bytes", what, bytes));
}

void write(Writer& out, const Meeting::Member& member) {
  out.u64(static_cast<std::uint64_t>(member.pid));
  out.text(member.host);
}

Meeting::Member read_member(Reader& in) {
  Meeting::Member member;
  member.pid = static_cast<std::int64_t>(in.u64());
  member.host = in.text();
  return member;
}

}  // namespace

net::Bytes encode(const Hello& hello) {
  Writer out;
  out.u32(hello.protocol);
  out.text(hello.version);
  out.raw(hello.secret);
  out.u32(static_cast<std::uint32_t>(hello.pe));
  out.u32(static_cast<std::uint32_t>(hello.npes));
  write(out, hello.member);
  return out.take();
}

Result<Hello> decode_hello(std::span<const std::byte> payload) {
  Reader in(payload);
  Hello hello;
  hello.protocol = in.u32();
  hello.version = in.text();
  if (in.good() && hello.protocol != kProtocol) return hello;
  const auto secret = in.raw(hello.secret.size());
  if (in.good()) std::ranges::copy(secret, hello.secret.begin());
  hello.pe = static_cast<int>(in.u32());
  hello.npes = static_cast<int>(in.u32());
  hello.member = read_member(in);
  if (!in.complete()) return malformed("hello", payload.size());
  return hello;
}

net::Bytes encode(const Call& call) {
  Writer out;
  out.u8(static_cast<std::uint8_t>(call.call));
  out.u64(call.sequence);
  out.raw(call.mine);
  return out.take();
}

Result<Call> decode_call(std::span<const std::byte> payload) {
  Reader in(payload);
  Call call;
  call.call = static_cast<Meeting::Call>(in.u8());
  call.sequence = in.u64();
  const bool known = call.call == Meeting::Call::kAllgather || call.call == Meeting::Call::kBarrier;
  if (!in.good() || !known) return malformed("call", payload.size());
  call.mine = in.raw(in.left());
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

net::Bytes encode_done(std::uint64_t sequence, const std::vector<Blob>& gathered) {
  Writer out;
  out.u64(sequence);
  out.u32(static_cast<std::uint32_t>(gathered.size()));
  for (const Blob& blob : gathered) out.bytes(blob);
  return out.take();
}

Result<Done> decode_done(std::span<const std::byte> payload, int npes) {
  Reader in(payload);
  Done done;
  done.sequence = in.u64();
  const std::uint32_t count = in.u32();
  // Only a start (sequence 0) and a barrier may come without anybody's bytes.
  if (!in.good() || (count != 0 && count != static_cast<std::uint32_t>(npes))) {
    return malformed("done", payload.size());
  }
  for (std::uint32_t i = 0; i < count && in.good(); ++i) {
    const auto blob = in.bytes();
    done.gathered.emplace_back(blob.begin(), blob.end());
  }
  if (!in.complete()) return malformed("done", payload.size());
  return done;
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
