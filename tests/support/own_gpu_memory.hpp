// GPU memory that a program takes from the driver by itself: mapped by handles, as PyTorch's
// expandable segments and ncclMemAlloc do it, or allocated as cudaMalloc does.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "src/platform/gpu/driver.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {

class OwnGpuMemory {
 public:
  // Allocations of so many bytes, whole pages, beside one another.
  static OwnGpuMemory mapped(const gpu::Library& library, int ordinal,
                             const std::vector<std::size_t>& allocations,
                             gpu::abi::HandleType type = gpu::abi::HandleType::kPosixFd) {
    OwnGpuMemory made(library, ordinal);
    for (const std::size_t bytes : allocations) made.bytes_ += bytes;
    const auto& call = made.driver_->call();
    expect(call.reserve(&made.base_, made.bytes_, 0, 0, 0));
    made.is_reserved_ = true;
    gpu::abi::AllocationProperties& properties = made.properties_;
    if (!made.driver_->describe_memory(ordinal, properties).is_ok()) std::abort();
    properties.handle_types = type;
    properties.location = {gpu::abi::LocationType::kDevice, ordinal};
    made.map(allocations);
    return made;
  }
  static OwnGpuMemory allocated(const gpu::Library& library, int ordinal, std::size_t bytes) {
    OwnGpuMemory made(library, ordinal);
    made.bytes_ = bytes;
    made.enter([&] { expect(made.driver_->allocate(&made.base_, bytes)); });
    return made;
  }
  OwnGpuMemory(OwnGpuMemory&& other) noexcept
      : driver_(other.driver_),
        home_(other.home_),
        base_(std::exchange(other.base_, 0)),
        bytes_(other.bytes_),
        is_reserved_(other.is_reserved_),
        properties_(other.properties_),
        parts_(std::move(other.parts_)) {}
  OwnGpuMemory& operator=(OwnGpuMemory&&) = delete;
  ~OwnGpuMemory() { free(); }

  std::byte* base() const { return gpu::abi::address(base_); }
  std::size_t bytes() const { return bytes_; }
  // To this memory or from it, whatever kernels do.
  void copy(void* to, const void* from, std::size_t bytes) const {
    const auto& call = driver_->call();
    enter([&] {
      Stream stream = nullptr;
      expect(call.stream_create(&stream, gpu::abi::kNonBlocking));
      expect(driver_->copy(to, from, bytes, stream));
      expect(call.stream_synchronize(stream));
      expect(call.stream_destroy(stream));
    });
  }
  void free() {
    if (base_ == 0) return;
    unmap();
    const auto& call = driver_->call();
    enter([&] { expect(is_reserved_ ? call.free_reserved(base_, bytes_) : call.free(base_)); });
    base_ = 0;
  }
  // Is freed, and other memory taken instead: at the same addresses, if it is mapped or the driver
  // gives them out again.
  void renew() {
    if (!is_reserved_) {
      enter([&] {
        expect(driver_->call().free(base_));
        expect(driver_->allocate(&base_, bytes_));
      });
      return;
    }
    std::vector<std::size_t> allocations;
    for (const auto& [at, bytes] : parts_) allocations.push_back(bytes);
    unmap();
    map(allocations);
  }
  // Nothing else comes to the unmapped addresses until free().
  void unmap() {
    for (const auto& [at, bytes] : parts_) expect(driver_->call().unmap(at, bytes));
    parts_.clear();
  }

 private:
  OwnGpuMemory(const gpu::Library& library, int ordinal) : driver_(*gpu::Driver::get(library)) {
    if (!driver_->open(ordinal, home_).is_ok()) std::abort();
  }
  void map(const std::vector<std::size_t>& allocations) {
    const auto& call = driver_->call();
    const gpu::abi::Access access{properties_.location, gpu::abi::AccessFlags::kReadWrite};
    gpu::abi::Pointer at = base_;
    for (const std::size_t bytes : allocations) {
      gpu::abi::Handle handle = 0;
      expect(call.create(&handle, bytes, &properties_, 0));
      expect(call.map(at, bytes, 0, handle, 0));
      expect(call.release(handle));  // the mapping keeps it
      expect(call.set_access(at, bytes, &access, 1));
      parts_.emplace_back(at, bytes);
      at += bytes;
    }
  }
  static void expect(const gpu::abi::Outcome& outcome) {
    if (outcome.error != gpu::abi::Error::kSuccess) std::abort();
  }
  template <class Work>
  void enter(Work work) const {
    gpu::Home before = 0;
    expect(driver_->enter(home_, before));
    work();
    expect(driver_->leave(before));
  }

  const gpu::Driver* driver_;
  gpu::Home home_ = 0;
  gpu::abi::Pointer base_ = 0;
  std::size_t bytes_ = 0;
  bool is_reserved_ = false;  // else allocated
  gpu::abi::AllocationProperties properties_{};
  std::vector<std::pair<gpu::abi::Pointer, std::size_t>> parts_;
};

}  // namespace weft
