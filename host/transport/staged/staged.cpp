// staged: GPUs of this host that mine does not reach.
//
// I open a peer's chunks for the GPU that has them, not for mine: my process then copies to and
// from that memory, and runs kernels there, beside the peer's. A put is a copy from here into
// memory of the host and one from there to the peer, on a stream of either GPU; a get goes the
// other way round; an atomic is a kernel on the peer's GPU, so that it is one among those of the
// peer's own kernels. The peer takes no part. Kernels have no address to load from and store to:
// their operations come by the ring.
//
// Orders. An op is executed when it is posted, and is complete then: what reaches the peer is there
// before the next op begins. So is the data of a put before its notify is queued: the stream that
// brought it has been waited for. A PE that sees the word, by an acquiring load, sees the data.
#include <vector>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "host/transport/opened_transport.hpp"
#include "host/transport/staged/stage.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

// A stage carries one op at a time, so pieces of a large one leave room for a word of another lane.
constexpr Caps kCaps = {
    .max_bytes = std::uint64_t{8} << 20, .link = Link::kPcie, .gbps = 10, .usec = 30};

class Staged final : public OpenedTransport {
 public:
  explicit Staged(const TransportEnv& env)
      : OpenedTransport(env, kCaps), ways_(static_cast<std::size_t>(env.npes)) {}
  std::string_view name() const override { return "staged"; }
  Status check(const Op& op) const override;

 private:
  // To one PE, from its first chunk on.
  struct Way {
    Platform* owner = nullptr;
    std::unique_ptr<Stage> stage;
  };

  std::string why_not_opened(int, const Blob& identity) const override {
    return env().platform->why_not_owned(identity);
  }
  Result<Platform*> opener(int pe, const Blob& identity) override;
  Result<Memory> place_of(int, Platform& opener) const override {
    return opener.reserve(env().heap.bytes);
  }
  bool carries() const override { return true; }
  Status carry_out(const Op& op, std::byte* heap) override;
  Status notify(Stage& stage, const Op& op, std::byte* heap) const;
  Result<std::byte*> find(const Op& op, std::byte* heap, std::uint64_t offset) const;

  std::vector<Way> ways_;
};

Result<Platform*> Staged::opener(int pe, const Blob& identity) {
  Way& way = ways_[static_cast<std::size_t>(pe)];
  if (way.owner != nullptr) return way.owner;
  Platform& mine = *env().platform;
  ASSIGN_OR_RETURN(Platform* const owner, mine.owner(identity));
  if (std::string why = owner->why_not_mapped(identity); !why.empty())
    return Status::error(Code::kUnsupported, std::move(why));
  ASSIGN_OR_RETURN(way.stage, Stage::create(mine, *owner));
  way.owner = owner;
  if (env().pe < pe && !mine.why_not_mapped(identity).empty())  // one of the two says it
    LOG(kWarn, "transport",
        "PE {} and PE {}: {} and {} do not reach each other; their data goes through host memory",
        env().pe, pe, mine.describe(), owner->describe());
  return owner;
}

Status Staged::check(const Op& op) const {
  RETURN_IF_ERROR(OpenedTransport::check(op));
  if (!is_amo(op.kind) && op.notify != NotifyOp::kAdd) return Status::ok();
  const Status there = ways_[op.pe].owner->check_launch();
  if (there.is_ok()) return there;
  return Status::error(
      there.code(),
      fmt::format("{}: atomics on a GPU that mine does not reach are kernels of libweft there, and "
                  "{}",
                  describe(op), there.text()));
}

Result<std::byte*> Staged::find(const Op& op, std::byte* heap, std::uint64_t offset) const {
  if (auto* const there = address_of(static_cast<int>(op.pe), heap, offset)) return there;
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: offset {:#x} was adopted memory, and is no longer", describe(op), offset));
}

Status Staged::carry_out(const Op& op, std::byte* heap) {
  Stage& stage = *ways_[op.pe].stage;
  ASSIGN_OR_RETURN(std::byte* const there, find(op, heap, op.remote));
  auto* const local = reinterpret_cast<std::byte*>(op.local);
  if (op.kind == OpKind::kGet) return stage.get(local, there, op.bytes);
  if (op.kind == OpKind::kPut) {
    RETURN_IF_ERROR(stage.put(there, local, op.bytes));
    return notify(stage, op, heap);
  }
  ASSIGN_OR_RETURN(const std::uint64_t old, stage.amo(op, there));
  bring_result(op, old);
  return Status::ok();
}

Status Staged::notify(Stage& stage, const Op& op, std::byte* heap) const {
  if (op.notify == NotifyOp::kNone) return Status::ok();
  ASSIGN_OR_RETURN(std::byte* const word, find(op, heap, op.signal));
  return stage.notify(op, word);
}

}  // namespace

std::unique_ptr<Transport> make_staged(const TransportEnv& env) {
  return std::make_unique<Staged>(env);
}

}  // namespace weft
