// RecordingTransport: reaches every PE, keeps what is posted, and does what a test tells it: refuse
// with kBusy, complete later, fail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/transport/apply.hpp"
#include "host/transport/routes.hpp"
#include "host/transport/transport.hpp"
#include "src/base/status.hpp"

namespace weft {

class RecordingTransport final : public Transport {
 public:
  std::string_view name() const override { return "recording"; }
  const Caps& caps() const override { return capabilities; }
  Result<Blob> address() override { return Blob(); }
  Status connect(std::span<const Blob>) override { return Status::ok(); }
  bool reaches(int) const override { return true; }
  std::string why_not(int) const override { return ""; }
  Result<Blob> expose(const Region&) override { return Blob(); }
  Result<Mapping> attach(int, std::uint64_t, std::uint64_t, const Blob&) override {
    return Mapping{};
  }
  void detach(int, std::uint64_t) override {}

  Status check(const Op& op) const override {
    return op.value == kBadValue ? Status::error(Code::kInvalidArgument, "bad") : Status::ok();
  }
  Status post(Lane lane, const Op& op) override {
    if (busy_posts > 0) {
      --busy_posts;
      return Status::busy();
    }
    if (refuse) RETURN_IF_ERROR(refuse(op));
    if (heap != nullptr && op.kind != OpKind::kFence) apply_op(op, heap);
    ops.emplace_back(lane, op);
    ++posted_[lane];
    if (complete_at_once) completed_[lane] = posted_[lane];
    return Status::ok();
  }
  Status progress(Lane) override {
    ++progress_calls;
    return std::exchange(progress_error, Status::ok());
  }
  std::uint64_t completed(Lane lane) const override {
    const auto found = completed_.find(lane);
    return found == completed_.end() ? 0 : found->second;
  }
  Status flush(Lane) override {
    ++flushes;
    return Status::ok();
  }

  void complete(Lane lane, std::uint64_t count) { completed_[lane] += count; }

  static constexpr std::uint64_t kBadValue = 0xbadbad;  // of an op that check() refuses

  std::vector<std::pair<Lane, Op>> ops;
  std::byte* heap = nullptr;  // set: ops are executed there, whatever their PE
  int busy_posts = 0;         // so many posts are refused first
  bool complete_at_once = true;
  std::function<Status(const Op&)> refuse;
  Status progress_error;
  int progress_calls = 0, flushes = 0;
  Caps capabilities{.needs_progress = true};

 private:
  std::map<Lane, std::uint64_t> posted_, completed_;
};

// Routes to `npes` PEs, all through one recording transport.
struct RecordingRoutes {
  explicit RecordingRoutes(int npes) {
    auto owned = std::make_unique<RecordingTransport>();
    transport = owned.get();
    routes.transports.push_back(std::move(owned));
    routes.peer.assign(static_cast<std::size_t>(npes), nullptr);
    routes.via.assign(static_cast<std::size_t>(npes), 0);
    routes.reason.assign(static_cast<std::size_t>(npes), "recording");
  }
  Routes routes;
  RecordingTransport* transport;
};

}  // namespace weft
