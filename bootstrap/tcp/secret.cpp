#include "bootstrap/tcp/secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<Secret> random_bits() {
  Secret secret{};
  for (std::span<std::byte> rest = secret; !rest.empty();) {
    const ssize_t n = ::getrandom(rest.data(), rest.size(), 0);
    if (n > 0) {
      rest = rest.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return Status::error(
          Code::kIo,
          fmt::format("no random bytes for the bootstrap: getrandom: {}", net::errno_text(errno)));
    }
  }
  return secret;
}

std::string to_hex(const Secret& secret) {
  std::string text;
  for (const std::byte b : secret) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

Result<Secret> secret_from_hex(std::string_view text) {
  Secret secret{};
  if (text.size() != 2 * secret.size()) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("the secret has {} characters instead of {}", text.size(), 2 * secret.size()));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int value = hex_value(text[i]);
    if (value < 0) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("character {} of the secret is not one of 0-9a-f", i + 1));
    }
    secret[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? value << 4 : value);
  }
  return secret;
}

bool same_secret(const Secret& a, const Secret& b) {
  // volatile: the compiler must not turn the loop into one that stops early.
  volatile unsigned differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences = differences | std::to_integer<unsigned>(a[i] ^ b[i]);
  }
  return differences == 0;
}

}  // namespace weft
