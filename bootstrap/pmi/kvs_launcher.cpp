#include "bootstrap/pmi/kvs_launcher.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::pmi {
namespace {

// Values are '+' or '.' (more pieces follow, or not) and hex digits: safe in every protocol.
std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(2)) {
    unsigned char byte = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc() || rest != text.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// Takes a number and what must follow it off `rest`.
std::optional<int> take_number(std::string_view& rest, char then) {
  int value = 0;
  const char* const end = rest.data() + rest.size();
  const auto [after, error] = std::from_chars(rest.data(), end, value);
  if (error != std::errc() || after == end || *after != then) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()) + 1);
  return value;
}

}  // namespace

std::string KvsLauncher::key(int piece) const { return fmt::format("weft-{}-{}", round_, piece); }

Status KvsLauncher::put_pieces(std::string_view text, const Deadline& deadline) {
  const std::size_t most = (most_value() - 1) / 2;
  for (int piece = 0;; ++piece) {
    const std::string_view part = text.substr(0, most);
    text.remove_prefix(part.size());
    RETURN_IF_ERROR(put(key(piece), (text.empty() ? "." : "+") + to_hex(part), deadline));
    if (text.empty()) return Status::ok();
  }
}

Result<std::string> KvsLauncher::broadcast(std::string_view text, const Deadline& deadline) {
  ++round_;
  // Whatever went wrong, the others stand at the fence.
  const Status mine = pe() == 0 ? put_pieces(text, deadline) : Status::ok();
  RETURN_IF_ERROR(fence(deadline));
  RETURN_IF_ERROR(mine);
  if (pe() == 0) return std::string(text);
  std::string whole;
  for (int piece = 0;; ++piece) {
    ASSIGN_OR_RETURN(const std::string value, get(key(piece), deadline));
    const auto part =
        from_hex(std::string_view(value).substr(std::min<std::size_t>(1, value.size())));
    if (value.empty() || !part) {
      return Status::error(Code::kIo, fmt::format("the launcher's store holds \"{}\" under {}, "
                                                  "which PE 0 never put there",
                                                  value.substr(0, 60), key(piece)));
    }
    whole += *part;
    if (value.front() == '.') return whole;
  }
}

bool maps_to_one_host(std::string_view mapping) {
  constexpr std::string_view kStart = "(vector,";
  if (!mapping.starts_with(kStart)) return false;
  mapping.remove_prefix(kStart.size());
  std::optional<int> host;
  while (mapping.starts_with('(')) {
    mapping.remove_prefix(1);
    const auto first = take_number(mapping, ',');
    const auto hosts = first ? take_number(mapping, ',') : std::nullopt;
    const auto each = hosts ? take_number(mapping, ')') : std::nullopt;
    if (!each || *hosts != 1 || (host && host != first)) return false;
    host = first;
    if (mapping.starts_with(',')) mapping.remove_prefix(1);
  }
  return host && mapping == ")";
}

}  // namespace weft::pmi
