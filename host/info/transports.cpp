#include "host/transport/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "host/info/sections.hpp"
#include "host/transport/routes.hpp"
#include "src/base/status.hpp"

namespace weft::info {
namespace {

const char* link_name(Link link) {
  switch (link) {
    case Link::kSelf: return "the PE itself";
    case Link::kSharedMemory: return "shared memory";
    case Link::kNvlink: return "NVLink";
    case Link::kPcie: return "PCIe";
    case Link::kNetwork: return "network";
  }
  return "";
}

std::string abilities(const Caps& caps) {
  std::string out = link_name(caps.link);
  out += caps.maps ? "; peers' heaps are mapped: loads and stores go straight there"
                   : "; peers' heaps are not mapped: every operation is a request";
  out += caps.in_order ? "; delivers in order" : "; may reorder what no fence orders";
  if (caps.needs_progress) out += "; moves only when progressed";
  if (caps.moves_sooner) out += "; moved on by who waits, else by a thread of its own";
  return out;
}

// "0-2,5"
std::string list_of(const std::vector<int>& pes) {
  std::string out;
  for (std::size_t i = 0; i < pes.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < pes.size() && pes[i + 1] == pes[i] + 1) ++i;
    out += fmt::format("{}{}", out.empty() ? "" : ",", pes[first]);
    if (i > first) out += fmt::format("-{}", pes[i]);
  }
  return out;
}

std::vector<Line> reach_lines(const Routes& routes) {
  std::map<std::string, std::vector<int>> by_reason;
  for (int pe = 0; pe < routes.npes(); ++pe) {
    by_reason[routes.reason[static_cast<std::size_t>(pe)]].push_back(pe);
  }
  std::vector<Line> lines;
  for (const auto& [reason, pes] : by_reason) {
    lines.push_back(there((pes.size() == 1 ? "PE " : "PEs ") + list_of(pes), reason));
  }
  return lines;
}

Result<Routes> connect(const Options& options, Bootstrap& bootstrap) {
  // Nothing is moved, so a small heap will do.
  ASSIGN_OR_RETURN(const Memory heap, cpu_platform().reserve(kReserveAlign));
  TransportEnv env;
  env.pe = bootstrap.pe();
  env.npes = bootstrap.npes();
  env.platform = &cpu_platform();
  env.heap = heap.range();
  env.options = &options;
  ASSIGN_OR_RETURN(auto transports, make_transports(env));
  return connect_routes(std::move(transports), bootstrap);
}

// Where the row is among those that an option names; nothing: not there.
std::optional<std::size_t> index_of(const TransportRow& row, const Options& options, bool is_gpu) {
  const auto rows = transport_rows(options, is_gpu);
  if (!rows.is_ok()) return std::nullopt;
  const auto at = std::find(rows->begin(), rows->end(), &row);
  if (at == rows->end()) return std::nullopt;
  return static_cast<std::size_t>(at - rows->begin());
}

Line transport_line(const TransportRow& row, const Routes& routes, const Options& options) {
  if (const auto used = index_of(row, options, false))
    return there(row.name,
                 fmt::format("{}: {}", row.help, abilities(routes.transports[*used]->caps())));
  if (index_of(row, options, true).has_value())
    return there(row.name, fmt::format("{}; for memory of GPUs alone", row.help));
  if (!row.carries) return there(row.name, row.help);
  return missing(row.name, fmt::format("{}; not asked for", row.help),
                 fmt::format("WEFT_TRANSPORTS={},{}", options.transports, row.name));
}

}  // namespace

std::vector<Section> transport_sections(const Options& options, Bootstrap& bootstrap) {
  Section transports{"transports", {}};
  Section reach{"reach", {}};
  reach.lines.push_back(fact("job",
                             fmt::format("this is PE {} of {}", bootstrap.pe(), bootstrap.npes()),
                             {{"pe", bootstrap.pe()}, {"npes", bootstrap.npes()}}));
  const Result<Routes> routes = connect(options, bootstrap);
  for (const TransportRow& row : transport_registry()) {
    if (!routes.is_ok()) {
      transports.lines.push_back(missing(row.name, row.help));
      continue;
    }
    transports.lines.push_back(transport_line(row, *routes, options));
  }
  if (routes.is_ok()) {
    for (Line& line : reach_lines(*routes)) reach.lines.push_back(std::move(line));
  } else {
    reach.lines.push_back(missing("none", std::string(routes.status().text())));
  }
  return {std::move(transports), std::move(reach)};
}

}  // namespace weft::info
