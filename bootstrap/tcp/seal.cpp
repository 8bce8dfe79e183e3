#include "bootstrap/tcp/seal.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "src/base/status.hpp"
#include "src/net/wire.hpp"

namespace weft::tcp {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }

  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }

  std::uint64_t digest() {
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

Secret proof_of(const Secret& secret, std::string_view purpose, const Nonces& nonces,
                std::span<const std::byte> payload) {
  net::Writer out;
  out.text(purpose);
  out.raw(nonces.caller);
  out.raw(nonces.callee);
  out.raw(payload);
  return siphash(secret, out.take());
}

}  // namespace

Secret siphash(const Secret& key, std::span<const std::byte> message) {
  net::Reader words(key);
  const std::uint64_t k0 = words.u64();
  const std::uint64_t k1 = words.u64();
  SipState state{0x736f6d6570736575 ^ k0, 0x646f72616e646f6d ^ k1 ^ 0xee, 0x6c7967656e657261 ^ k0,
                 0x7465646279746573 ^ k1};
  net::Reader in(message);
  while (in.left() >= 8) state.take(in.u64());
  std::uint64_t last = static_cast<std::uint64_t>(message.size()) << 56;
  for (int shift = 0; in.left() > 0; shift += 8) last |= std::uint64_t{in.u8()} << shift;
  state.take(last);

  net::Writer out;
  state.v2 ^= 0xee;
  out.u64(state.digest());
  state.v1 ^= 0xdd;
  out.u64(state.digest());
  Secret hash{};
  std::ranges::copy(out.take(), hash.begin());
  return hash;
}

net::Bytes seal(const Secret& secret, std::string_view purpose, const Nonces& nonces,
                std::span<const std::byte> payload) {
  net::Writer out;
  out.raw(payload);
  out.raw(proof_of(secret, purpose, nonces, payload));
  return out.take();
}

Result<std::span<const std::byte>> open_seal(const Secret& secret, std::string_view purpose,
                                             const Nonces& nonces,
                                             std::span<const std::byte> sealed) {
  Secret proof{};
  if (sealed.size() < proof.size()) {
    return Status::error(Code::kInvalidArgument, "it gave no proof of the job's secret");
  }
  const auto payload = sealed.first(sealed.size() - proof.size());
  std::ranges::copy(sealed.last(proof.size()), proof.begin());
  if (!same_secret(proof, proof_of(secret, purpose, nonces, payload))) {
    return Status::error(Code::kInvalidArgument, "it does not know the job's secret");
  }
  return payload;
}

}  // namespace weft::tcp
