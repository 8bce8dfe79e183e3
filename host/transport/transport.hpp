// Transport: moves bytes to a peer. One folder and one row of transports.def.hpp each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/dev/op.hpp>
#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/topology/facts.hpp"
#include "src/platform/platform.hpp"

namespace weft {

// An ordered queue of a transport: a context's host calls use one, its device ring another.
enum class Lane : std::uint32_t {};
inline Lane host_lane(int context) { return Lane(static_cast<std::uint32_t>(2 * context)); }
inline Lane device_lane(int context) { return Lane(static_cast<std::uint32_t>(2 * context + 1)); }
inline constexpr std::size_t kTransportLanes = 2 * 64;

// A chunk of my heap: committed memory at a heap offset.
struct Region {
  std::uint64_t offset = 0;
  Memory memory;
};

enum class Link : std::uint8_t { kSelf, kSharedMemory, kNvlink, kPcie, kNetwork };

struct Caps {
  bool maps = false;            // attach() may give an address for direct load and store
  bool in_order = true;         // ops of a lane to one PE are delivered in the order posted
  bool needs_progress = false;  // nothing moves unless progress() is called
  bool moves_sooner = false;    // for those who call it while they wait, whatever they wait for
  bool owns_atomics = false;  // of 8 bytes: it executes all of them, also where others reach the PE
  std::uint64_t max_bytes = ~std::uint64_t{0};  // of one op; LaneQueue cuts a larger one
  Link link = Link::kSelf;
  float gbps = 0, usec = 0;  // rough, for topology's choice among several
};

// Why most transports do not reach their own PE, which another one serves.
inline constexpr const char* kIsThisPe = "that is this PE itself";

struct Mapping {
  std::byte* heap = nullptr;   // where the peer's heap offset 0 lies in my address space; or null
  std::byte* apart = nullptr;  // where the chunk does, if it lies apart: adopted GPU memory
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual const Caps& caps() const = 0;

  // Wiring, in this order, by one thread. address() of all PEs, in PE order, goes to connect().
  virtual Result<Blob> address() = 0;
  virtual Status connect(std::span<const Blob> all) = 0;
  virtual bool reaches(int pe) const = 0;
  // Why not, for people; "" if it does.
  virtual std::string why_not(int pe) const = 0;
  // How bytes come to a reached PE's memory, for people; "" if there is but one way.
  virtual std::string way_to(int /*pe*/) const { return ""; }
  // A chunk of my heap, and then every reached peer's chunk of the same offset.
  virtual Result<Blob> expose(const Region& region) = 0;
  virtual Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                                 const Blob& exposed) = 0;
  // Forgets a chunk that was attached but then refused by another PE.
  virtual void detach(int pe, std::uint64_t offset) = 0;

  // An error if an op is wrong, whatever its size: a piece of a bad op may look right. post() makes
  // the same check.
  virtual Status check(const Op& op) const = 0;
  // post never blocks: kBusy means progress(), then again; any other error means that the op was
  // refused for good. Only ops that were taken (ok) count as posted. post and progress of one lane
  // may come from two threads (its owner and the proxy); the transport serialises them.
  virtual Status post(Lane lane, const Op& op) = 0;
  virtual Status progress(Lane lane) = 0;
  // How many of the lane's posted ops are complete; they complete in order. A failed op counts as
  // complete, and its Status comes from the next progress().
  virtual std::uint64_t completed(Lane lane) const = 0;
  // The lane's op that has been under way for longest and how far it is, for people; "" if that is
  // not known.
  virtual std::string oldest(Lane /*lane*/) const { return ""; }
  // Tells that somebody waits for everything posted so far; a transport that may hold ops back
  // (for batching, or to inject faults) must now let them go. Does not wait.
  virtual Status flush(Lane lane) = 0;
};

// A transport is built from this.
struct TransportEnv {
  int pe = 0;
  int npes = 1;
  Platform* platform = nullptr;
  Range heap;  // my reservation; only committed chunks may be touched
  const Options* options = nullptr;
  // The facts of all PEs, from address() on; null or empty: not known.
  const std::vector<Facts>* facts = nullptr;
  std::uint64_t adopted_at = ~std::uint64_t{0};  // offsets from here on are of adopted memory
  const char* size_option = "WEFT_HEAP_SIZE";    // that says how large the heap may grow
  bool is_gpu = false;                           // GPU memory, whose transports are others
  // A reservation in which each PE's heap has a place, heap.bytes apart, mine too; or nothing, then
  // each gets a reservation of its own.
  Memory places;
  // One of the other transports serves PEs of one host that map each other's memory, so a network
  // need not.
  bool host_is_served = false;
};

// The facts of my PE: as the job has them, or looked for now.
Result<Facts> facts_of(const TransportEnv& env);

// The memory of one host that a transport serves without a network, as far as can be told without
// asking GPUs what they reach.
enum class HostMemory : std::uint8_t { kNone, kOwn, kOfHosts, kOfGpus };

// Registry: one row per transport, in transports.def.hpp.
struct TransportRow {
  const char* name;
  const char* help;
  std::unique_ptr<Transport> (*make)(const TransportEnv& env);
  HostMemory serves = HostMemory::kNone;
  bool carries = true;  // false: for measurements, nothing arrives
};
std::span<const TransportRow> transport_registry();

// The rows that options.transports (for GPU memory options.gpu_transports) name, in that order. An
// unknown name is an error that lists the known ones.
Result<std::vector<const TransportRow*>> transport_rows(const Options& options, bool is_gpu);
// Their transports, each inside a fault injector if options.fault is set.
Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportEnv& env);

}  // namespace weft
