#include "host/transport/routes.hpp"

#include <fmt/format.h>

#include "host/topology/select.hpp"
#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

using Transports = std::vector<std::unique_ptr<Transport>>;

// One exchange for all transports: exchanged[t][pe]. My own failure travels too, first of all, so
// that nobody waits for me and everybody can say what went wrong.
Result<std::vector<std::vector<Blob>>> exchange(const Transports& transports, Bootstrap& bootstrap,
                                                std::string_view what,
                                                Result<std::vector<Blob>> mine) {
  std::vector<Blob> parts{encode(mine.status())};
  if (mine.is_ok()) parts.insert(parts.end(), mine->begin(), mine->end());
  ASSIGN_OR_RETURN(const std::vector<Blob> all, bootstrap.allgather(pack(parts)));
  RETURN_IF_ERROR(mine.status());
  std::vector<std::vector<Blob>> sorted(transports.size());
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(parts, unpack(all[pe]));
    if (!parts.empty()) RETURN_IF_ERROR(decode(parts[0], static_cast<int>(pe), what));
    if (parts.size() != transports.size() + 1)
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("PE {} brought {} transports, PE {} {}; set WEFT_TRANSPORTS, and "
                      "WEFT_GPU_TRANSPORTS, to the same on every PE",
                      pe, parts.size() - 1, bootstrap.pe(), transports.size()));
    for (std::size_t t = 0; t < transports.size(); ++t)
      sorted[t].push_back(std::move(parts[t + 1]));
  }
  return sorted;
}

Result<std::vector<Blob>> addresses(const Transports& transports) {
  std::vector<Blob> blobs;
  for (const auto& transport : transports) {
    ASSIGN_OR_RETURN(Blob blob, transport->address());
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

Status connect(const Transports& transports, Bootstrap& bootstrap) {
  ASSIGN_OR_RETURN(const auto all,
                   exchange(transports, bootstrap, "making an address", addresses(transports)));
  for (std::size_t t = 0; t < transports.size(); ++t)
    RETURN_IF_ERROR(transports[t]->connect(all[t]));
  return Status::ok();
}

Status choose(Routes& routes, Bootstrap& bootstrap) {
  const int npes = bootstrap.npes();
  std::vector<Offer> offers;
  for (const auto& transport : routes.transports) {
    Offer offer{std::string(transport->name()), {}};
    for (int pe = 0; pe < npes; ++pe) offer.why_not.push_back(transport->why_not(pe));
    offers.push_back(std::move(offer));
  }
  routes.peer.assign(static_cast<std::size_t>(npes), nullptr);
  for (Pick& pick : select(offers, npes)) {
    const std::size_t pe = routes.via.size();
    if (pick.offer < 0)
      return Status::error(Code::kUnsupported,
                           fmt::format("no transport reaches PE {} from PE {}: {}", pe,
                                       bootstrap.pe(), pick.reason));
    routes.via.push_back(static_cast<std::uint32_t>(pick.offer));
    routes.reason.push_back(std::move(pick.reason));
  }
  return Status::ok();
}

Result<std::vector<Blob>> handles(const Routes& routes, const Region& region) {
  std::vector<Blob> blobs;
  for (const auto& transport : routes.transports) {
    ASSIGN_OR_RETURN(Blob blob, transport->expose(region));
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

// `attached` counts the PEs whose chunk is attached, also when one fails.
Status attach_all(Routes& routes, Bootstrap& bootstrap, const Region& region, int& attached,
                  std::vector<std::byte*>* places) {
  if (places != nullptr) places->assign(static_cast<std::size_t>(routes.npes()), nullptr);
  ASSIGN_OR_RETURN(const auto all,
                   exchange(routes.transports, bootstrap, "sharing a chunk of the heap",
                            handles(routes, region)));
  for (; attached < routes.npes(); ++attached) {
    const auto pe = static_cast<std::size_t>(attached);
    Transport& transport = routes.transport(attached);
    const auto mapping =
        transport.attach(attached, region.offset, region.memory.bytes(), all[routes.via[pe]][pe]);
    if (!mapping)
      return Status::error(
          mapping.status().code(),
          fmt::format("PE {}'s memory at heap offset {:#x}, through {}: {}", attached,
                      region.offset, transport.name(), mapping.status().text()));
    if (!transport.caps().maps) continue;
    routes.peer[pe] = mapping->heap;
    if (places != nullptr)
      (*places)[pe] = attached == bootstrap.pe() ? region.memory.base() : mapping->apart;
  }
  return Status::ok();
}

}  // namespace

Result<Routes> connect_routes(Transports transports, Bootstrap& bootstrap) {
  Routes routes;
  routes.transports = std::move(transports);
  Status status = connect(routes.transports, bootstrap);
  if (status.is_ok()) status = choose(routes, bootstrap);
  RETURN_IF_ERROR(agree(bootstrap, status, "finding a way to every PE"));
  return routes;
}

Status attach_chunk(Routes& routes, Bootstrap& bootstrap, std::uint64_t offset, const Memory& chunk,
                    std::vector<std::byte*>* places) {
  int attached = 0;
  Status status = attach_all(routes, bootstrap, {offset, chunk}, attached, places);
  status =
      agree(bootstrap, status, fmt::format("attaching the heap's chunk at offset {:#x}", offset));
  if (!status.is_ok())
    for (int pe = 0; pe < attached; ++pe) routes.transport(pe).detach(pe, offset);
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
  for (int pe = 0; pe < routes.npes(); ++pe) routes.transport(pe).detach(pe, offset);
}

}  // namespace weft
