// Proof of knowing the job's secret without showing it. Each side of a connection makes a nonce;
// what it then says of itself carries a keyed hash over its words and both nonces. So a recorded
// proof is good for no other connection, and an altered word is noticed.
#pragma once

#include <span>
#include <string_view>

#include <weft/result.hpp>

#include "bootstrap/tcp/secret.hpp"
#include "src/net/frame.hpp"

namespace weft::tcp {

// SipHash-2-4 with 128 bits of output (Aumasson, Bernstein): made for keys of 128 bits and short
// messages.
Secret siphash(const Secret& key, std::span<const std::byte> message);

struct Nonces {
  Nonce caller{};
  Nonce callee{};
};

// The payload with its proof at the end. `purpose` keeps one message from being taken for another.
net::Bytes seal(const Secret& secret, std::string_view purpose, const Nonces& nonces,
                std::span<const std::byte> payload);
// The payload without its proof; kInvalidArgument if whoever sent it does not know the secret.
Result<std::span<const std::byte>> open_seal(const Secret& secret, std::string_view purpose,
                                             const Nonces& nonces,
                                             std::span<const std::byte> sealed);

}  // namespace weft::tcp
