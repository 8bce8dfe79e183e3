#include "bootstrap/tcp/id_text.hpp"

#include <charconv>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr std::string_view kForm = "weft1:<host>:<port>:<32 hex digits>:<number of PEs, or *>";
constexpr int kMostPes = 1048576;
constexpr std::string_view kAnyNumber = "*";

Status wrong(std::string_view what) {
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("this is not a unique id: {}. The form is {}; copy the whole text "
                  "that UniqueId::text() or weft-run gave",
                  what, kForm));
}

// Cuts the last ":part" off `text`.
Result<std::string_view> cut_last(std::string_view& text, std::string_view what) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(fmt::format("it has no {}", what));
  const std::string_view part = text.substr(colon + 1);
  text = text.substr(0, colon);
  return part;
}

Status check_version(std::string_view version) {
  if (version == "weft1") return Status::ok();
  if (version.starts_with("weft") && version.size() > 4 &&
      version.find_first_not_of("0123456789", 4) == std::string_view::npos) {
    return Status::error(Code::kVersionMismatch,
                         fmt::format("the unique id has form {} but this Weft reads weft1. Use the "
                                     "same Weft for every PE and the launcher",
                                     version));
  }
  return wrong(fmt::format("it starts with \"{}\" instead of weft1", version.substr(0, 16)));
}

Result<int> parse_npes(std::string_view text) {
  if (text == kAnyNumber) return 0;
  int npes = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, npes);
  if (error != std::errc() || rest != end || npes < 1 || npes > kMostPes) {
    // Longer than any number, it may be the secret in the wrong place.
    const auto shown =
        text.size() <= 12 ? std::string(text) : fmt::format("{}...", text.substr(0, 4));
    return wrong(fmt::format("the number of PEs, \"{}\", is not in 1..{}", shown, kMostPes));
  }
  return npes;
}

}  // namespace

std::string to_string(const IdText& id) {
  return fmt::format("weft1:{}:{}:{}", net::to_string(id.address), to_hex(id.secret),
                     id.npes == 0 ? std::string(kAnyNumber) : std::to_string(id.npes));
}

Result<IdText> parse_id_text(std::string_view text) {
  if (text.empty()) return wrong("it is empty");
  const auto colon = text.find(':');
  RETURN_IF_ERROR(check_version(text.substr(0, colon)));
  if (colon == std::string_view::npos) return wrong("it ends after weft1");
  std::string_view rest = text.substr(colon + 1);

  IdText id;
  ASSIGN_OR_RETURN(const std::string_view npes, cut_last(rest, "number of PEs at its end"));
  ASSIGN_OR_RETURN(id.npes, parse_npes(npes));
  ASSIGN_OR_RETURN(const std::string_view hex, cut_last(rest, "secret before the number of PEs"));
  auto secret = secret_from_hex(hex);
  if (!secret) return wrong(secret.status().text());
  id.secret = *secret;
  auto address = net::parse_address(rest);
  if (!address) return wrong(address.status().text());
  id.address = std::move(*address);
  return id;
}

}  // namespace weft
