#include "kernels/core/arena.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {

Arena::Arena(std::shared_ptr<ArenaImpl> impl) : impl_(std::move(impl)) {}
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;
Arena::~Arena() = default;

Result<Arena> Arena::create(Runtime& runtime, std::size_t bytes) {
  const RelaxedCapture relaxed(runtime);
  auto made = std::make_shared<ArenaImpl>(runtime);
  if (Status grown = made->grow(bytes); !grown.is_ok()) return report(std::move(grown));
  return Arena(std::move(made));
}
std::size_t Arena::bytes() const { return impl_->bytes(); }
std::size_t Arena::used_bytes() const { return impl_->used_bytes(); }

Status ArenaImpl::grow(std::size_t bytes) {
  if (bytes == 0) return Status::ok();
  ASSIGN_OR_RETURN(SymmetricMemory block, SymmetricMemory::create(*runtime_, bytes));
  blocks_.push_back(std::move(block));
  used_before_ += std::exchange(used_, 0);
  return Status::ok();
}

Result<std::byte*> ArenaImpl::take(const Runtime& runtime, std::size_t bytes) {
  if (&runtime != runtime_)
    return Status::error(Code::kInvalidArgument,
                         "options.arena was made on another runtime than the operator; an arena "
                         "serves the operators of one runtime");
  if (blocks_.empty() || blocks_.back().bytes() - used_ < bytes) RETURN_IF_ERROR(grow(bytes));
  std::byte* const part = blocks_.back().as<std::byte>() + used_;
  used_ = std::min(align_up(used_ + bytes, kWorkspaceAlignment), blocks_.back().bytes());
  return part;
}

std::size_t ArenaImpl::bytes() const {
  std::size_t all = 0;
  for (const SymmetricMemory& block : blocks_) all += block.bytes();
  return all;
}

Result<OperatorMemory> OperatorMemory::create(Runtime& runtime, const Arena* arena,
                                              std::size_t bytes) {
  OperatorMemory made;
  made.bytes_ = bytes;
  if (bytes == 0) return made;
  if (arena == nullptr) {
    ASSIGN_OR_RETURN(made.own_, SymmetricMemory::create(runtime, bytes));
    made.begin_ = made.own_.as<std::byte>();
    return made;
  }
  made.arena_ = ArenaImpl::share(*arena);
  ASSIGN_OR_RETURN(made.begin_, made.arena_->take(runtime, bytes));
  return made;
}

Given given_of(const Arena* arena) {
  return {"options.arena (one more than the bytes taken from it; 0: none)",
          arena == nullptr ? 0 : static_cast<std::uint64_t>(arena->used_bytes()) + 1};
}

}  // namespace weft::kernels
