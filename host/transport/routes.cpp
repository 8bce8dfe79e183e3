#include "host/transport/routes.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/topology/select.hpp"
#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

// Transports that are wired at one time.
using Stage = std::vector<Transport*>;

// Transports at hand come first, and with them the preferred network, and one that owns atomics. A
// further network is opened only if those leave somebody out.
std::vector<Stage> stages_of(const std::vector<std::unique_ptr<Transport>>& transports) {
  std::vector<Stage> stages(1);
  bool has_network = false;
  for (const auto& transport : transports) {
    const bool is_network = transport->caps().link == Link::kNetwork;
    const bool is_second = is_network && std::exchange(has_network, true);
    if (is_second && !transport->caps().owns_atomics)
      stages.push_back({transport.get()});
    else
      stages.front().push_back(transport.get());
  }
  return stages;
}

// One exchange for all transports: exchanged[t][pe]. My own failure travels too, first of all, so
// that nobody waits for me and everybody can say what went wrong; and of how many of my transports
// these are some.
Result<std::vector<std::vector<Blob>>> exchange(const Stage& transports, std::size_t of,
                                                Bootstrap& bootstrap, std::string_view what,
                                                Result<std::vector<Blob>> mine) {
  std::vector<Blob> parts{encode(mine.status()), bytes_of_value(of)};
  if (mine.is_ok()) parts.insert(parts.end(), mine->begin(), mine->end());
  ASSIGN_OR_RETURN(const std::vector<Blob> all, bootstrap.allgather(pack(parts)));
  RETURN_IF_ERROR(mine.status());
  std::vector<std::vector<Blob>> sorted(transports.size());
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(parts, unpack(all[pe]));
    if (!parts.empty()) RETURN_IF_ERROR(decode(parts[0], static_cast<int>(pe), what));
    if (parts.size() < 2)
      return Status::error(Code::kInternal, fmt::format("{}: PE {} sent nothing", what, pe));
    ASSIGN_OR_RETURN(const auto theirs, value_of<std::size_t>(parts[1], pe, "its transports"));
    if (theirs != of || parts.size() != transports.size() + 2)
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("PE {} brought {} transports, PE {} {}; set WEFT_TRANSPORTS, and "
                      "WEFT_GPU_TRANSPORTS, to the same on every PE",
                      pe, theirs, bootstrap.pe(), of));
    for (std::size_t t = 0; t < transports.size(); ++t)
      sorted[t].push_back(std::move(parts[t + 2]));
  }
  return sorted;
}

Result<std::vector<Blob>> addresses(const Stage& transports) {
  std::vector<Blob> blobs;
  for (Transport* const transport : transports) {
    ASSIGN_OR_RETURN(Blob blob, transport->address());
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

Status connect(const Stage& transports, std::size_t of, Bootstrap& bootstrap) {
  ASSIGN_OR_RETURN(const auto all,
                   exchange(transports, of, bootstrap, "making an address", addresses(transports)));
  for (std::size_t t = 0; t < transports.size(); ++t)
    RETURN_IF_ERROR(transports[t]->connect(all[t]));
  return Status::ok();
}

// "loopback": those that serve such memory, for people.
std::string names_of(HostMemory memory) {
  std::string names;
  for (const TransportRow& row : transport_registry())
    if (row.serves == memory) names += (names.empty() ? "" : " or ") + std::string(row.name);
  return names;
}

Status out_of_reach(std::size_t pe, int from, std::string_view why) {
  const bool is_itself = pe == static_cast<std::size_t>(from);
  return Status::error(
      Code::kUnsupported,
      fmt::format("no transport reaches PE {} from PE {}: {}{}", pe, from, why,
                  is_itself ? "; name " + names_of(HostMemory::kOwn) + " too" : ""));
}

// Among those that are wired.
Status choose(Routes& routes, const Stage& wired, Bootstrap& bootstrap) {
  const int npes = bootstrap.npes();
  std::vector<Offer> offers;
  for (const auto& transport : routes.transports) {
    const bool is_wired = std::find(wired.begin(), wired.end(), transport.get()) != wired.end();
    Offer offer{std::string(transport->name()), {}};
    for (int pe = 0; pe < npes; ++pe)
      offer.why_not.push_back(is_wired ? transport->why_not(pe) : "not opened: nobody needs it");
    offers.push_back(std::move(offer));
  }
  for (std::uint32_t t = 0; t < routes.transports.size(); ++t)
    if (routes.transports[t]->caps().owns_atomics) routes.atomics = t;
  routes.peer.assign(static_cast<std::size_t>(npes), nullptr);
  routes.via.clear();
  routes.reason.clear();
  for (Pick& pick : select(offers, npes)) {
    const std::size_t pe = routes.via.size();
    if (pick.offer < 0) return out_of_reach(pe, bootstrap.pe(), pick.reason);
    routes.via.push_back(static_cast<std::uint32_t>(pick.offer));
    routes.reason.push_back(std::move(pick.reason));
  }
  return Status::ok();
}

// Whether some PE lacks a way to another. A failure of one is one of all.
Result<bool> somebody_lacks(Bootstrap& bootstrap, const Status& failed, bool i_lack) {
  const std::vector<Blob> mine{encode(failed), Blob(i_lack ? 1 : 0)};
  ASSIGN_OR_RETURN(const std::vector<Blob> all, bootstrap.allgather(pack(mine)));
  RETURN_IF_ERROR(failed);
  bool lacking = false;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(const std::vector<Blob> parts, unpack(all[pe]));
    RETURN_IF_ERROR(decode(parts.front(), static_cast<int>(pe), "finding a way to every PE"));
    lacking |= !parts.back().empty();
  }
  return lacking;
}

Result<std::vector<Blob>> handles(const Routes& routes, const Region& region) {
  std::vector<Blob> blobs;
  for (const auto& transport : routes.transports) {
    ASSIGN_OR_RETURN(Blob blob, transport->expose(region));
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

// A PE's chunk, of the transport that reaches it; and of that which executes atomics there.
Result<Mapping> attach_one(const Routes& routes, int pe, const Region& region,
                           const std::vector<std::vector<Blob>>& all) {
  const auto at = static_cast<std::size_t>(pe);
  const auto attach = [&](std::uint32_t transport) {
    return routes.transports[transport]->attach(pe, region.offset, region.memory.bytes(),
                                                all[transport][at]);
  };
  if (routes.is_split(at)) RETURN_IF_ERROR(attach(*routes.atomics).status());
  return attach(routes.via[at]);
}

void detach_one(const Routes& routes, int pe, std::uint64_t offset) {
  routes.transport(pe).detach(pe, offset);
  if (routes.is_split(static_cast<std::size_t>(pe)))
    routes.transports[*routes.atomics]->detach(pe, offset);
}

// `attached` counts the PEs whose chunk is attached, also when one fails.
Status attach_all(Routes& routes, Bootstrap& bootstrap, const Region& region, int& attached,
                  std::vector<std::byte*>* places) {
  if (places != nullptr) places->assign(static_cast<std::size_t>(routes.npes()), nullptr);
  Stage every;
  for (const auto& transport : routes.transports) every.push_back(transport.get());
  ASSIGN_OR_RETURN(const auto all,
                   exchange(every, every.size(), bootstrap, "sharing a chunk of the heap",
                            handles(routes, region)));
  for (; attached < routes.npes(); ++attached) {
    const auto pe = static_cast<std::size_t>(attached);
    Transport& transport = routes.transport(attached);
    const auto mapping = attach_one(routes, attached, region, all);
    if (!mapping)
      return Status::error(
          mapping.status().code(),
          fmt::format("PE {}'s memory at heap offset {:#x}, through {}: {}", attached,
                      region.offset, transport.name(), mapping.status().text()));
    if (!transport.caps().maps) continue;
    // Written only if it changes: other threads look here while the heap grows.
    if (routes.peer[pe] != mapping->heap) routes.peer[pe] = mapping->heap;
    if (places != nullptr)
      (*places)[pe] = attached == bootstrap.pe() ? region.memory.base() : mapping->apart;
  }
  return Status::ok();
}

}  // namespace

Result<Routes> connect_routes(Result<std::vector<std::unique_ptr<Transport>>> transports,
                              Bootstrap& bootstrap) {
  if (!transports.is_ok()) {  // the others are on their way into both exchanges
    const Status& mine = transports.status();
    exchange({}, 0, bootstrap, "opening the heap", mine).status().ignore();
    return somebody_lacks(bootstrap, mine, false).status();
  }
  Routes routes;
  routes.transports = std::move(*transports);
  Stage wired;
  Status lacking;
  for (const Stage& stage : stages_of(routes.transports)) {
    const Status connected = connect(stage, routes.transports.size(), bootstrap);
    wired.insert(wired.end(), stage.begin(), stage.end());
    if (connected.is_ok()) lacking = choose(routes, wired, bootstrap);
    ASSIGN_OR_RETURN(const bool go_on, somebody_lacks(bootstrap, connected, !lacking.is_ok()));
    if (!go_on) return routes;
  }
  RETURN_IF_ERROR(agree(bootstrap, lacking, "finding a way to every PE"));
  return routes;
}

Status attach_chunk(Routes& routes, Bootstrap& bootstrap, std::uint64_t offset, const Memory& chunk,
                    std::vector<std::byte*>* places) {
  int attached = 0;
  Status status = attach_all(routes, bootstrap, {offset, chunk}, attached, places);
  status =
      agree(bootstrap, status, fmt::format("attaching the heap's chunk at offset {:#x}", offset));
  if (!status.is_ok())
    for (int pe = 0; pe < attached; ++pe) detach_one(routes, pe, offset);
  return status;
}

Status attach_growth(Routes& routes, Bootstrap& bootstrap, std::string_view what,
                     std::uint64_t offset, const Result<Memory>& chunk,
                     std::vector<std::byte*>* places) {
  RETURN_IF_ERROR(agree(bootstrap, chunk.status(), what));
  RETURN_IF_ERROR(attach_chunk(routes, bootstrap, offset, *chunk, places));
  LOG(kDebug, "memory", "{} done, {} bytes", what, chunk->bytes());
  return Status::ok();
}

void detach_chunk(const Routes& routes, std::uint64_t offset) {
  for (int pe = 0; pe < routes.npes(); ++pe) detach_one(routes, pe, offset);
}

}  // namespace weft
