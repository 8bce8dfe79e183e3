#include "host/transport/platform_copies.hpp"

#include <utility>

#include "host/kernel/kernel_list.hpp"
#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

Result<Side> Side::create(Platform& platform) {
  Side side(platform);
  ASSIGN_OR_RETURN(side.word_, platform.host_visible(sizeof(std::uint64_t)));
  RETURN_IF_ERROR(kernel::prepare(platform));
  ASSIGN_OR_RETURN(side.stream_, platform.create_stream());
  return side;
}

Side::Side(Side&& other) noexcept
    : platform_(other.platform_),
      stream_(std::exchange(other.stream_, nullptr)),
      word_(std::move(other.word_)) {}

Side::~Side() {
  if (stream_ != nullptr) platform_->destroy_stream(stream_).ignore();  // it is idle
}

Status Side::settled(Status queued) const {
  Status done = synchronize();
  return queued.is_ok() ? done : queued;
}

Status Side::copy(void* dst, const void* src, std::size_t bytes) const {
  return bytes == 0 ? Status::ok() : settled(queue(dst, src, bytes));
}

Status Side::set(std::byte* word, std::uint64_t wanted) const {
  *value() = wanted;
  return copy(word, value(), sizeof wanted);
}

// For the kernel the word is the heap of a job of one PE.
Result<std::uint64_t> Side::amo(const Op& op, std::byte* word) const {
  kernel::AmoKernel kernel{};
  kernel.handle.heap = word;
  kernel.handle.heap_bytes = kernel.handle.plain_bytes = op.width;
  kernel.amo = amo_of(op.kind);
  kernel.width = op.width;
  kernel.word = word;
  kernel.value = op.value;
  kernel.compare = op.compare;
  kernel.result = value();
  RETURN_IF_ERROR(settled(kernel::launch(*platform_, 1, 1, kernel, stream_)));
  return *value();
}

Status Side::notify(const Op& op, std::byte* word) const {
  if (op.notify == NotifyOp::kNone) return Status::ok();
  if (op.notify == NotifyOp::kSet) return set(word, op.value);
  Op add;
  add.kind = OpKind::kAmoAdd;
  add.value = op.value;
  add.width = sizeof(op.value);
  return amo(add, word).status();
}

}  // namespace weft
