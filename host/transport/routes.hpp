// Routes: how each PE is reached. Made once by the runtime; Context and Proxy look here on every
// operation: load and store through `peer[pe]` if it is not null, else an Op to `transport(pe)`.
// Where a transport owns atomics, those of 8 bytes are Ops to it, for every PE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

#include "bootstrap/bootstrap.hpp"
#include "host/transport/transport.hpp"

namespace weft {

struct Routes {
  std::vector<std::byte*> peer;     // where pe's heap offset 0 is mapped; null: use the transport.
                                    // Never resized: kernels see this very array.
  std::vector<std::uint32_t> via;   // index into `transports`
  std::vector<std::string> reason;  // why this transport, for people
  std::vector<std::unique_ptr<Transport>> transports;  // in order of preference
  // The one that executes all atomics of 8 bytes, whatever reaches the PE otherwise; or none.
  std::optional<std::uint32_t> atomics;

  bool by_atomics(OpKind kind, std::size_t width) const {
    return atomics.has_value() && is_amo(kind) && width == sizeof(std::uint64_t);
  }
  // The transport of an op to a PE that exists.
  std::uint32_t way_of(const Op& op) const {
    return by_atomics(op.kind, op.width) ? *atomics : via[op.pe];
  }
  // Two transports bring ops to that PE.
  bool is_split(std::size_t pe) const { return atomics.has_value() && via[pe] != *atomics; }
  int npes() const { return static_cast<int>(via.size()); }
  Transport& transport(int pe) const { return *transports[via[static_cast<std::size_t>(pe)]]; }
  // Whether every PE is mapped, once something is attached.
  bool map_all() const { return std::find(peer.begin(), peer.end(), nullptr) == peer.end(); }
};

// Collective: one exchange of addresses for all transports, then one transport is picked for every
// PE; of several networks the later ones are opened, by a further exchange, only if the earlier
// leave a PE of the job without a way to another. Fails, here and with the same code on the other
// PEs, if any PE is out of reach, or came with a failure instead of transports.
Result<Routes> connect_routes(Result<std::vector<std::unique_ptr<Transport>>> transports,
                              Bootstrap& bootstrap);

// Collective, once per chunk of the heap and in the same order on all PEs: expose mine, exchange,
// attach everybody's. Fills routes.peer. A chunk that fails on one PE fails on all.
Status attach_chunk(Routes& routes, Bootstrap& bootstrap, std::uint64_t offset, const Memory& chunk,
                    std::vector<std::byte*>* places = nullptr);
// The same for what a heap has grown by, which may be a failure: one that fails on one PE fails on
// all, which then give theirs back. `what` is being done, for messages. For a chunk that lies apart
// from the heap, `places` says where each PE's does for me; null: use the transport.
Status attach_growth(Routes& routes, Bootstrap& bootstrap, std::string_view what,
                     std::uint64_t offset, const Result<Memory>& chunk,
                     std::vector<std::byte*>* places = nullptr);
// Forgets what every PE attached at that offset.
void detach_chunk(const Routes& routes, std::uint64_t offset);

}  // namespace weft
