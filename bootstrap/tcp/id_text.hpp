// A unique id as text:  weft1:<host>:<port>:<32 hex digits>:<npes>, or * for npes
#pragma once

#include <string>
#include <string_view>

#include <weft/result.hpp>

#include "bootstrap/tcp/secret.hpp"
#include "src/net/address.hpp"

namespace weft {

struct IdText {
  net::Address address;
  Secret secret{};
  int npes = 0;  // 0: the first PE that comes says it
};

std::string to_string(const IdText& id);
// The error says which part is wrong, and never shows the secret.
Result<IdText> parse_id_text(std::string_view text);

}  // namespace weft
