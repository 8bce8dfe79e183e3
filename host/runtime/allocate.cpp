// Symmetric memory: the heap's calls, checked and, where promised, with a barrier behind them.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <weft/types.hpp>

#include "host/runtime/impl.hpp"
#include "host/transport/agree.hpp"
#include "src/base/status.hpp"

namespace weft {

// Everybody sees all values and so comes to the same answer.
Status Runtime::Impl::check_same(const char* routine, std::string values) {
  ++collective_calls;
  return job->options.check ? compare(routine, std::move(values)) : Status::ok();
}

Status Runtime::Impl::compare(const char* routine, std::string values) {
  RETURN_IF_ERROR(sync_all());
  const std::string mine = fmt::format("{}({})", caller_or(routine), values);
  const auto* raw = reinterpret_cast<const std::byte*>(mine.data());
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather({raw, mine.size()}));
  const auto text = [&](std::size_t pe) {
    return std::string_view(reinterpret_cast<const char*>(all[pe].data()), all[pe].size());
  };
  for (std::size_t pe = 1; pe < all.size(); ++pe)
    if (all[pe] != all[0])
      return Status::error(
          Code::kNotSymmetric,
          fmt::format("collective call {} is {} on PE {} and {} on PE 0; every PE must make the "
                      "same calls with the same arguments, in the same order",
                      collective_calls, text(pe), pe, text(0)));
  return Status::ok();
}

Result<void*> Runtime::Impl::allocate(const char* routine, std::size_t bytes, std::size_t align,
                                      MemoryKind kind) {
  RETURN_IF_ERROR(usable());
  const bool for_kernels = kind == MemoryKind::kDevice;
  RETURN_IF_ERROR(check_same(routine, fmt::format("bytes {}, align {}{}", bytes, align,
                                                  for_kernels ? ", device memory" : "")));
  if (bytes == kTooManyBytes)
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{}: the count of elements is so large that their bytes do not fit in {} bits",
                    caller_or(routine), 8 * sizeof(std::size_t)));
  if (for_kernels) RETURN_IF_ERROR(look_for_gpus_again());
  if (for_kernels && !job->no_gpu.is_ok())
    return Status::error(job->no_gpu.code(),
                         fmt::format("{}: {}", caller_or(routine), job->no_gpu.text()));
  Heap& heap = for_kernels && job->gpu != nullptr ? job->gpu->heap() : *job->heap;
  auto memory = heap.allocate(bytes, align);
  if (memory.is_ok()) return memory;
  return Status::error(memory.status().code(), fmt::format("{} of {} bytes: {}", caller_or(routine),
                                                           bytes, memory.status().text()));
}

Status Runtime::Impl::free(void* memory) {
  RETURN_IF_ERROR(usable());
  if (memory == nullptr) return check_same("free", "null");
  Heap& heap = job->heap_of(memory);
  auto offset = heap.offset_of(memory, 0);
  RETURN_IF_ERROR(check_same("free", offset ? fmt::format("heap offset {:#x}", to_u64(*offset))
                                            : std::string("an address outside the heap")));
  Status status = heap.free(memory);
  if (status.is_ok()) return status;
  return Status::error(status.code(), fmt::format("{}: argument {}: {}", caller_or("free"),
                                                  caller_argument("memory"), status.text()));
}

Result<void*> Runtime::allocate_bytes(std::size_t bytes, std::size_t align, MemoryKind kind) {
  const auto alone = impl_->take_job_calls();
  auto memory = impl_->allocate("allocate", bytes, align, kind);
  if (!memory) return report(memory.status());
  return memory;
}

Result<void*> Runtime::callocate_bytes(std::size_t count, std::size_t size, MemoryKind kind) {
  const auto alone = impl_->take_job_calls();
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = kTooManyBytes;
  const auto zeroed = [&]() -> Result<void*> {
    ASSIGN_OR_RETURN(void* const memory, impl_->allocate("callocate", bytes, 0, kind));
    const bool on_gpu = bytes != 0 && impl_->job->is_on_gpu(memory);
    if (bytes != 0 && !on_gpu) std::memset(memory, 0, bytes);
    const Status mine =
        on_gpu ? impl_->job->gpu->zero({static_cast<std::byte*>(memory), bytes}) : Status::ok();
    RETURN_IF_ERROR(impl_->sync_all());
    if (!on_gpu) return memory;
    const Status all = agree(*impl_->job->bootstrap, mine, "zeroing memory");
    if (all.is_ok()) return memory;
    RETURN_IF_ERROR(impl_->job->heap_of(memory).free(memory));
    return all;
  };
  auto memory = zeroed();
  if (!memory) return report(memory.status());
  return memory;
}

Result<void*> Runtime::reallocate_bytes(void* memory, std::size_t bytes) {
  const auto alone = impl_->take_job_calls();
  const auto reallocate = [&]() -> Result<void*> {
    RETURN_IF_ERROR(impl_->usable());
    std::size_t old_bytes = 0;
    Heap& heap = impl_->job->heap_of(memory);
    const bool on_gpu = impl_->job->is_on_gpu(memory);
    if (memory != nullptr) {
      auto size = heap.size_of(memory);
      if (!size)
        return Status::error(size.status().code(),
                             fmt::format("{}: argument {}: {}", caller_or("reallocate"),
                                         caller_argument("memory"), size.status().text()));
      old_bytes = *size;
    }
    const MemoryKind kind = on_gpu ? MemoryKind::kDevice : MemoryKind::kHost;
    ASSIGN_OR_RETURN(void* const fresh, impl_->allocate("reallocate", bytes, 0, kind));
    const std::size_t kept = std::min(old_bytes, bytes);
    if (kept != 0 && on_gpu) RETURN_IF_ERROR(impl_->job->gpu->copy(fresh, memory, kept));
    if (kept != 0 && !on_gpu) std::memcpy(fresh, memory, kept);
    RETURN_IF_ERROR(impl_->free(memory));
    RETURN_IF_ERROR(impl_->sync_all());
    return fresh;
  };
  auto fresh = reallocate();
  if (!fresh) return report(fresh.status());
  return fresh;
}

std::optional<std::uint64_t> Runtime::offset_of(const void* address, std::size_t bytes) const {
  const std::uint64_t offset = impl_->job->heap_of(address).try_offset(address, bytes);
  if (offset == Heap::kNoOffset) return {};
  return offset;
}

Status Runtime::free(void* memory) {
  const auto alone = impl_->take_job_calls();
  return report(impl_->free(memory));
}

}  // namespace weft
