#include "src/platform/gpu/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/available_memory.hpp"
#include "src/platform/gpu/last_calls.hpp"

namespace weft::gpu {
namespace {

std::string show(int ordinal, const Identity& identity) {
  return fmt::format("GPU {} ({})", ordinal, identity.bus);
}

}  // namespace

const char* to_string(Way way) {
  switch (way) {
    case Way::kFd: return "file descriptors";
    case Way::kFabric: return "fabric handles";
    case Way::kIpc: break;
  }
  return "IPC handles";
}

Result<Identity> identify(const Driver& driver, int ordinal) {
  Identity identity;
  const std::string what = fmt::format("identify GPU {}", ordinal);
  RETURN_IF_ERROR(driver.check(driver.call().device_uuid(&identity.uuid, ordinal), what));
  RETURN_IF_ERROR(
      driver.check(driver.call().device_bus(identity.bus, sizeof identity.bus, ordinal), what));
  return identity;
}

Result<std::unique_ptr<Device>> Device::open(const Driver& driver, int ordinal) {
  std::unique_ptr<Device> device(new Device(driver, ordinal));
  ASSIGN_OR_RETURN(device->identity_, identify(driver, ordinal));
  RETURN_IF_ERROR(driver.has_word_steps(ordinal, device->has_word_steps_));
  RETURN_IF_ERROR(device->start());
  return device;
}

Status Device::start() {
  RETURN_IF_ERROR(driver_.open(ordinal_, home_));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*this));
  RETURN_IF_ERROR(check(call().stream_create(&stream_, abi::kNonBlocking), "create a stream"));
  constexpr std::size_t kMarkBytes = 16;
  RETURN_IF_ERROR(check(driver_.allocate(&mark_, kMarkBytes), "take a mark of the context's"));
  mark_id_ = driver_.buffer_id(abi::address(mark_));
  return Status::ok();
}

// Only of one that did not come to use: those that did live as long as the process.
Device::~Device() {
  if (stream_ == nullptr) return;
  const auto scope = Scope::to_release(*this);
  if (!scope) return;
  check(call().stream_destroy(stream_), "destroy a stream").ignore();
  if (mark_ != 0) check(call().free(mark_), "free the mark").ignore();
}

Status Device::share_by(Way way) {
  abi::AllocationProperties memory{};
  std::size_t granularity = kReserveAlign;
  if (way != Way::kIpc) {
    RETURN_IF_ERROR(driver_.describe_memory(ordinal_, memory));
    memory.handle_types = static_cast<abi::HandleType>(way);
    memory.location = {abi::LocationType::kDevice, ordinal_};
    ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*this));
    RETURN_IF_ERROR(check(call().granularity(&granularity, &memory, abi::Granularity::kMinimum),
                          "ask for the size of its pages"));
  }
  memory_ = memory;
  granularity_ = granularity;
  way_ = way;
  return Status::ok();
}

std::string Device::describe() const { return show(ordinal_, identity_); }

Status Device::failure(abi::Outcome outcome, std::string_view what) const {
  Status plain = driver_.check(outcome, fmt::format("{} on {}", what, describe()));
  const std::string before = calls_before(outcome.error);
  if (before.empty()) return plain;
  return Status::error(plain.code(), fmt::format("{}{}", plain.text(), before));
}

void Device::warn(abi::Outcome outcome, std::string_view what) const {
  const bool is_known =
      gone_.load(std::memory_order_relaxed) || (abi::ends_all(outcome.error) && is_failure_known());
  const Status status = check(outcome, what);
  if (!status.is_ok() && !is_known) LOG(kWarn, "platform", "{}", status.text());
}

bool Device::was_reset() const {
  if (mark_id_ == 0 || !driver_.check_process().is_ok()) return false;
  const RelaxedCapture relaxed(driver_);
  Home before = 0;
  const abi::Error entered = driver_.enter(home_, before).error;
  if (entered != abi::Error::kSuccess)
    return entered == abi::Error::kContextIsDestroyed || entered == abi::Error::kInvalidContext;
  const bool was = !has_context();
  driver_.leave(before);
  return was;
}

bool Device::has_context() const {
  std::uint64_t id = 0;
  const abi::Outcome asked = call().pointer_attribute(&id, abi::PointerAttribute::kBufferId, mark_);
  return asked.error == abi::Error::kSuccess ? id == mark_id_ : abi::ends_all(asked.error);
}

void Device::tell_of_reset() const {
  if (is_failure_known() || gone_.exchange(true, std::memory_order_relaxed)) return;
  LOG(kWarn, "platform",
      "{} was reset (cudaDeviceReset, hipDeviceReset) before the runtime was destroyed, and what "
      "the runtime had there is gone; destroy the runtime first",
      describe());
}

Status Device::no_room(abi::Outcome outcome, std::size_t bytes, std::string_view option) const {
  std::size_t free = 0;
  std::size_t total = 0;
  RETURN_IF_ERROR(check(call().memory_info(&free, &total), "ask how much memory is free"));
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("{} of memory of {} asked for, {} of {} free ({}: out of memory). Ask for less, "
                  "lower {} if it is that which is too large, or end what else uses the GPU ({})",
                  cpu::show_bytes(bytes), describe(), cpu::show_bytes(free), cpu::show_bytes(total),
                  outcome.function, option, driver_.words().holders));
}

Status Device::allow(Range where) const {
  const abi::Access access{{abi::LocationType::kDevice, ordinal_}, abi::AccessFlags::kReadWrite};
  return check(call().set_access(abi::pointer(where.base), where.bytes, &access, 1),
               fmt::format("reach {} bytes at {}", where.bytes, fmt::ptr(where.base)));
}

Status Device::zero(Range where, std::shared_ptr<void> owner) const {
  constexpr std::string_view kWhat = "zero new memory";
  RETURN_IF_ERROR(
      check(call().set_bytes(abi::pointer(where.base), 0, where.bytes, stream_), kWhat));
  Status done = finish(stream_, kWhat);
  if (done.is_ok()) return done;
  LOG(kWarn, "platform",
      "{} bytes of memory of {} stay taken, since it is not known whether their zeroing has ended",
      where.bytes, describe());
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::move(owner));
  return done;
}

void Device::drop_kept() const {
  std::vector<std::shared_ptr<void>> gone;  // outside the lock
  const std::lock_guard lock(kept_mutex_);
  if (!kept_.empty() && call().stream_query(stream_).error == abi::Error::kSuccess)
    gone.swap(kept_);
}

// Where a driver refuses to wait it may still say whether there is anything to wait for.
Status Device::finish(Stream stream, std::string_view what) const {
  constexpr std::chrono::microseconds kBetweenLooks{50};
  const abi::Outcome waited = call().stream_synchronize(stream);
  if (waited.error == abi::Error::kSuccess) return Status::ok();
  for (;;) {
    const abi::Error seen = call().stream_query(stream).error;
    if (seen == abi::Error::kSuccess) return Status::ok();
    if (seen != abi::Error::kNotReady) return check(waited, what);
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Status Device::reach(Home peer) const {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*this));
  const abi::Outcome reached = driver_.reach(peer);
  if (reached.error == abi::Error::kPeerAccessAlreadyEnabled) return Status::ok();
  return check(reached, "reach another GPU of this process");
}

Result<int> Device::find(const Identity& peer) const {
  if (peer == identity_) return ordinal_;
  ASSIGN_OR_RETURN(const int count, driver_.count());
  for (int other = 0; other < count; ++other) {
    ASSIGN_OR_RETURN(const Identity found, identify(driver_, other));
    if (found == peer) return other;
  }
  return Status::error(
      Code::kUnsupported,
      fmt::format(
          "the GPU {} of the peer is not visible to this process, which is on {}: let {} name the "
          "GPUs of all PEs of this host for each of them, and let each PE choose its own ({}); in "
          "containers, pass all of them in",
          std::string_view(peer.bus, ::strnlen(peer.bus, sizeof peer.bus)), describe(),
          driver_.words().visible, driver_.words().choose));
}

std::string Device::why_not_reached(const Identity& peer) const {
  const auto other = find(peer);
  if (!other) return std::string(other.status().text());
  if (*other == ordinal_) return "";
  int can = 0;
  const Status asked =
      check(call().device_can_access(&can, ordinal_, *other), "ask which GPUs it reaches");
  if (!asked.is_ok()) return std::string(asked.text());
  if (can != 0) return "";
  return fmt::format(
      "{} cannot reach {} directly: no link between them, and no path over PCIe that the driver "
      "allows ({}; an IOMMU or PCIe ACS may be why)",
      describe(), show(*other, peer), driver_.words().topology);
}

RelaxedCapture::RelaxedCapture(const Driver& driver) : driver_(&driver) {
  if (driver.call().exchange_capture_mode(&before_).error != abi::Error::kSuccess)
    driver_ = nullptr;
}

RelaxedCapture::~RelaxedCapture() {
  // A mode that the driver has just given it takes back.
  if (driver_ != nullptr) driver_->call().exchange_capture_mode(&before_);
}

Result<Scope> Scope::enter(const Device& device) {
  RETURN_IF_ERROR(device.driver().check_process());
  RelaxedCapture relaxed(device.driver());
  Home before = 0;
  RETURN_IF_ERROR(
      device.check(device.driver().enter(device.home(), before), "make it the current one"));
  return Scope(std::move(relaxed), device, before);
}

std::optional<Scope> Scope::try_to_enter(const Device& device) {
  const bool was_known = is_failure_known();
  auto scope = enter(device);
  if (scope) return std::move(scope).value();
  if (!was_known && is_failure_known()) LOG(kWarn, "platform", "{}", scope.status().text());
  return std::nullopt;
}

std::optional<Scope> Scope::to_release(const Device& device) {
  if (device.was_reset()) {
    device.tell_of_reset();
    return std::nullopt;
  }
  return try_to_enter(device);
}

Scope::~Scope() {
  if (device_ == nullptr) return;
  device_->warn(device_->driver().leave(before_), "restore the thread's GPU");
}

}  // namespace weft::gpu
