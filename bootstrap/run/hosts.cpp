#include "bootstrap/run/hosts.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::run {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Status wrong(std::string_view item) {
  return Status::error(
      Code::kInvalidArgument,
      fmt::format(
          "\"{}\" is not a host: a name or an address, and if need be how many PEs it gets, "
          "as in node1:4, node1 slots=4, fe80::1 or [fe80::1]:4",
          item));
}

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || rest != end || count < 1) return std::nullopt;
  return count;
}

// With or without the interface of a link-local address (fe80::1%eth0).
bool is_ipv6(std::string_view text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), &address) == 1;
}

// name, name:4, [address]:4; an address of IPv6 needs no brackets without a number.
struct Name {
  std::string_view name, count;  // empty: none was given
};
std::optional<Name> split_name(std::string_view word) {
  if (word.starts_with('[')) {
    const auto bracket = word.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    const std::string_view behind = word.substr(bracket + 1), name = word.substr(1, bracket - 1);
    if (!is_ipv6(name)) return std::nullopt;
    if (behind.empty()) return Name{name, {}};
    if (behind.front() != ':' || behind.size() == 1) return std::nullopt;
    return Name{name, behind.substr(1)};
  }
  const auto colon = word.find(':');
  if (colon == std::string_view::npos || is_ipv6(word)) return Name{word, {}};
  if (colon + 1 == word.size()) return std::nullopt;
  return Name{word.substr(0, colon), word.substr(colon + 1)};
}

Result<Host> parse_host(std::string_view item) {
  const auto blank = item.find_first_of(kBlank);
  const auto split = split_name(item.substr(0, blank));
  // A name that starts like an option would be one of the remote shell's options.
  if (!split || split->name.empty() || split->name.front() == '-') return wrong(item);
  std::string_view count = split->count;
  if (blank != std::string_view::npos) {  // as a host file of Open MPI has it
    constexpr std::string_view kSlots = "slots=";
    const std::string_view word = trim(item.substr(blank));
    if (!count.empty() || !word.starts_with(kSlots)) return wrong(item);
    count = word.substr(kSlots.size());
    if (count.empty()) return wrong(item);
  }
  Host host{std::string(split->name)};
  if (count.empty()) return host;
  const auto number = parse_count(count);
  if (!number) return wrong(item);
  host.count = *number;
  return host;
}

}  // namespace

Result<std::vector<Host>> parse_hosts(std::string_view list) {
  std::vector<Host> hosts;
  for (;;) {
    const auto comma = list.find(',');
    ASSIGN_OR_RETURN(Host host, parse_host(trim(list.substr(0, comma))));
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) return hosts;
    list = list.substr(comma + 1);
  }
}

Result<std::vector<Host>> read_hostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status::error(Code::kInvalidArgument, fmt::format("file {} cannot be read", path));
  }
  std::vector<Host> hosts;
  for (std::string line; std::getline(file, line);) {
    const auto item = trim(std::string_view(line).substr(0, line.find('#')));
    if (item.empty()) continue;
    ASSIGN_OR_RETURN(Host host, parse_host(item));
    hosts.push_back(std::move(host));
  }
  if (!hosts.empty()) return hosts;
  return Status::error(Code::kInvalidArgument, fmt::format("file {} names no host", path));
}

Status place(int npes, std::vector<Host>& hosts) {
  int left = npes;
  int sharing = 0;
  for (const Host& host : hosts) {
    left -= std::min(host.count, left + 1);  // one too many is as wrong as many
    if (host.count == 0) ++sharing;
  }
  if (left < sharing || (left > 0 && sharing == 0)) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} PEs do not fit the hosts: those with a number (node1:4) must get theirs, "
                    "those without at least one each, and none may be left over",
                    npes));
  }
  int first = 0;
  for (Host& host : hosts) {
    if (host.count == 0) {
      host.count = (left + sharing - 1) / sharing;
      left -= host.count;
      --sharing;
    }
    host.first = first;
    first += host.count;
  }
  return Status::ok();
}

}  // namespace weft::run
