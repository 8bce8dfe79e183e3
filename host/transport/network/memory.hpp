// Memory that a device of a network may use, and memory of a transport's own that is such.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>

#include <weft/result.hpp>

#include "src/base/status.hpp"

namespace weft::network {

// Ports that a PE may use side by side; memory has keys for each.
inline constexpr std::size_t kMostRails = 4;
using Keys = std::array<std::uint64_t, kMostRails>;

struct Registered {
  std::shared_ptr<void> hold;  // gives the registration back
  std::uint64_t address = 0;   // by which peers name the first byte
  Keys keys{};                 // that peers show
  Keys local_keys{};           // for requests of my own: lkeys, or a descriptor's address
};
using Register = std::function<Result<Registered>(std::byte* base, std::size_t bytes)>;

class Buffer {
 public:
  static Result<Buffer> make(std::size_t bytes, const Register& register_memory) {
    Buffer made;
    made.memory_.reset(new (std::align_val_t{kAlign}, std::nothrow) std::byte[bytes]);
    if (made.memory_ == nullptr)
      return Status::error(Code::kOutOfMemory, "no memory left for a network's buffers");
    ASSIGN_OR_RETURN(made.registered_, register_memory(made.memory_.get(), bytes));
    return made;
  }
  std::byte* base() const { return memory_.get(); }
  std::uint64_t key(std::size_t rail = 0) const { return registered_.local_keys[rail]; }

 private:
  static constexpr std::size_t kAlign = 4096;
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{kAlign});
    }
  };

  std::unique_ptr<std::byte[], Free> memory_;
  Registered registered_;  // after the memory: given back before it
};

}  // namespace weft::network
