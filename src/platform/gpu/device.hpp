// Device: one GPU as this process sees it, and the scope in which its context is current.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <weft/status.hpp>

#include "src/platform/gpu/abi.hpp"
#include "src/platform/gpu/driver.hpp"

namespace weft::gpu {

// What tells one GPU from another, on every process of a host.
struct Identity {
  Uuid uuid{};
  char bus[16] = {};  // "0000:1b:00.0"
};
Result<Identity> identify(const Driver& driver, int ordinal);

class Device {
 public:
  static Result<std::unique_ptr<const Device>> open(const Driver& driver, int ordinal);

  const Driver& driver() const { return driver_; }
  const abi::Table& call() const { return driver_.call(); }
  int ordinal() const { return ordinal_; }
  const Identity& identity() const { return identity_; }
  // Shared with the CUDA runtime, so that its streams and kernels are at home in it; retained for
  // the life of the process.
  abi::Context context() const { return context_; }
  // Of Weft's own work: never waits behind, nor breaks the capture of, a stream of the user.
  Stream stream() const { return stream_; }
  std::size_t granularity() const { return granularity_; }
  bool has_stream_words() const { return has_stream_words_; }
  const abi::AllocationProperties& memory() const { return memory_; }

  // As Driver::check(), and says which GPU.
  Status check(abi::Error error, std::string_view function, std::string_view what) const {
    return error == abi::Error::kSuccess ? Status::ok() : failure(error, function, what);
  }
  std::string describe() const;  // "GPU 0 (0000:1b:00.0)"

  // Lets this GPU load and store there.
  Status allow(Range where) const;
  // Why this GPU cannot reach the memory of that one; "" if it can.
  std::string why_not_reached(const Identity& peer) const;

 private:
  Device(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  Status learn();
  Status start();
  Status failure(abi::Error error, std::string_view function, std::string_view what) const;

  const Driver& driver_;
  const int ordinal_;
  Identity identity_;
  abi::Context context_ = nullptr;
  Stream stream_ = nullptr;
  std::size_t granularity_ = 0;
  bool has_stream_words_ = false;
  abi::AllocationProperties memory_{};
};

// While it lives the GPU's context is the calling thread's, whatever that thread had before.
class Scope {
 public:
  static Result<Scope> enter(const Device& device);
  Scope(Scope&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  explicit Scope(const Device& device) : device_(&device) {}
  const Device* device_;
};

}  // namespace weft::gpu
