#include "bootstrap/run/hosts.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

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
  return Status::error(Code::kInvalidArgument,
                       fmt::format("\"{}\" is not a host: a name, and if need be how many PEs it "
                                   "gets, as in node1:4",
                                   item));
}

Result<Host> parse_host(std::string_view item) {
  const auto colon = item.find(':');
  Host host{std::string(item.substr(0, colon))};
  // What starts like an option would be one of the remote shell's.
  if (host.name.empty() || host.name.front() == '-' ||
      host.name.find_first_of(kBlank) != std::string::npos) {
    return wrong(item);
  }
  if (colon == std::string_view::npos) return host;
  const char* const end = item.data() + item.size();
  const auto [rest, error] = std::from_chars(item.data() + colon + 1, end, host.count);
  if (error != std::errc() || rest != end || host.count < 1) return wrong(item);
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
