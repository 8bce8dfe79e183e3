// Device: one GPU as this process sees it, and the scope in which it is current.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/result.hpp>

#include "src/platform/gpu/abi.hpp"
#include "src/platform/gpu/driver.hpp"

namespace weft::gpu {

// The identity that tells one GPU from another, on every process of a host.
struct Identity {
  Uuid uuid{};
  char bus[16] = {};  // "0000:1b:00.0"
  // Both: AMD's GPUs do not all have a uuid.
  bool operator==(const Identity& other) const = default;
};
Result<Identity> identify(const Driver& driver, int ordinal);

// How memory reaches another process.
enum class Way : std::uint32_t {
  kFd = 1,      // a file descriptor: the memory is mapped wherever one likes
  kFabric = 8,  // a token that every process of one NVLink fabric may open; mapped alike
  kIpc = 0,     // a token for the whole of an allocation, which the driver maps where it likes
};
const char* to_string(Way way);

class Device {
 public:
  static Result<std::unique_ptr<Device>> open(const Driver& driver, int ordinal);
  ~Device();
  // How memory that is taken from now on reaches others; an error if the driver has no such memory.
  Status share_by(Way way);

  const Driver& driver() const { return driver_; }
  const abi::Table& call() const { return driver_.call(); }
  int ordinal() const { return ordinal_; }
  const Identity& identity() const { return identity_; }
  Home home() const { return home_; }
  Way way() const { return way_; }
  std::size_t granularity() const { return granularity_; }
  bool has_word_steps() const { return has_word_steps_; }
  const abi::AllocationProperties& memory() const { return memory_; }

  // As Driver::check(), and says which GPU.
  Status check(abi::Outcome outcome, std::string_view what) const {
    return outcome.error == abi::Error::kSuccess ? Status::ok() : failure(outcome, what);
  }
  // For the failures of destructors, which nobody can return. Failures that follow from what is
  // known already are not repeated.
  void warn(abi::Outcome outcome, std::string_view what) const;
  // Whether the program has reset the GPU since (cudaDeviceReset), and all that the context had is
  // gone. HIP's driver does not say.
  bool was_reset() const;
  void tell_of_reset() const;    // once
  std::string describe() const;  // "GPU 0 (0000:1b:00.0)"
  // An error with what the driver's does not say: what was asked for and what is there. In a Scope.
  Status no_room(abi::Outcome outcome, std::size_t bytes, std::string_view option) const;

  // Lets this GPU load and store there. In a Scope, as the next.
  Status allow(Range where) const;
  // Complete on return. If it cannot be waited for, the device keeps `owner`, whose memory it is.
  Status zero(Range where, std::shared_ptr<void> owner) const;
  // Gives back what zero() has kept, once that is over.
  void drop_kept() const;
  // Waits for a stream. An error other than the GPU's own failure means that what was queued may
  // still be under way.
  Status finish(Stream stream, std::string_view what) const;
  // Lets this GPU load and store what that one has allocated in this process.
  Status reach(Home peer) const;
  // Why this GPU cannot reach the memory of that one; "" if it can.
  std::string why_not_reached(const Identity& peer) const;
  // The ordinal of that one in this process; an error if it is not visible.
  Result<int> find(const Identity& peer) const;

 private:
  Device(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  Status start();
  bool has_context() const;  // in a Scope
  Status failure(abi::Outcome outcome, std::string_view what) const;

  const Driver& driver_;
  const int ordinal_;
  Identity identity_;
  Home home_ = 0;
  mutable std::atomic<bool> gone_{false};  // the context was reset
  // Memory that belongs to the context: where it is there no longer, the context is another one.
  abi::Pointer mark_ = 0;
  std::uint64_t mark_id_ = 0;  // 0: the driver gives none
  // The stream of Weft's own work: never waits behind a stream of the user.
  Stream stream_ = nullptr;
  mutable std::mutex kept_mutex_;
  mutable std::vector<std::shared_ptr<void>> kept_;  // what work of stream_ may still write to
  bool has_word_steps_ = false;
  Way way_ = Way::kIpc;
  std::size_t granularity_ = kReserveAlign;
  abi::AllocationProperties memory_{};
};

// While it lives a capture of the program's forbids the calling thread nothing, and nothing that
// the thread does spoils one: drivers refuse what could wait or take memory while some stream is
// captured in global mode, and spoil the capture.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver);
  RelaxedCapture(RelaxedCapture&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)), before_(other.before_) {}
  RelaxedCapture& operator=(RelaxedCapture&&) = delete;
  ~RelaxedCapture();

 private:
  const Driver* driver_;  // null: nothing to restore
  abi::CaptureMode before_ = abi::CaptureMode::kRelaxed;
};

// While it lives the GPU is current in the calling thread, whatever that thread had before, and
// captures are relaxed.
class Scope {
 public:
  static Result<Scope> enter(const Device& device);
  // For destructors; a failure of a kernel that is not known yet is told.
  static std::optional<Scope> try_to_enter(const Device& device);
  // To give back what belongs to the context. None: there is nothing to give back, since the
  // context is gone, which is told, or belongs to the parent of this child of fork().
  static std::optional<Scope> to_release(const Device& device);
  Scope(Scope&& other) noexcept
      : relaxed_(std::move(other.relaxed_)),
        device_(std::exchange(other.device_, nullptr)),
        before_(other.before_) {}
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  Scope(RelaxedCapture relaxed, const Device& device, Home before)
      : relaxed_(std::move(relaxed)), device_(&device), before_(before) {}
  RelaxedCapture relaxed_;
  const Device* device_;
  Home before_;
};

}  // namespace weft::gpu
