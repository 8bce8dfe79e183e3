// Memory that a program has already becomes symmetric where it is, that of the host and that of
// GPUs, and again its own.
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/runtime/impl.hpp"
#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

Status about(const char* what, const OwnMemory& piece, const Status& status) {
  if (status.is_ok()) return status;
  return Status::error(status.code(),
                       fmt::format("{} of {}: {}", caller_or(what), piece.name, status.text()));
}

}  // namespace

bool Runtime::Impl::is_gpu_memory(const OwnMemory& piece) const {
  return job->gpu != nullptr && job->gpu->platform().is_device_memory(piece.address);
}

// All PEs must agree on this: a piece that is there already stands for the same pieces of
// the others as before.
std::string Runtime::Impl::describe(const OwnMemory& piece, bool on_gpu) const {
  std::string text = fmt::format("{} bytes of {}", piece.bytes, piece.name);
  if (on_gpu) text += " in GPU memory";
  const Heap& heap = job->heap_of(piece.address);
  if (const AdoptedRange* const known = heap.piece_of(piece.address, piece.bytes))
    text += fmt::format(" adopted before at offset {:#x}",
                        known->offset + static_cast<std::uint64_t>(
                                            static_cast<std::byte*>(piece.address) - known->base));
  return text;
}

// Memory that one PE has freed, and now adopts under the same addresses, is adopted no longer on
// any.
Status Runtime::Impl::retire_freed(const std::vector<OwnMemory>& pieces) {
  if (job->gpu == nullptr) return Status::ok();
  std::vector<std::uint64_t> mine;
  for (const OwnMemory& piece : pieces) {
    const Range own{static_cast<std::byte*>(piece.address), piece.bytes};
    const auto freed = job->gpu->heap().freed_pieces(own);
    mine.insert(mine.end(), freed.begin(), freed.end());
  }
  RETURN_IF_ERROR(sync_all());
  const auto* const raw = reinterpret_cast<const std::byte*>(mine.data());
  ASSIGN_OR_RETURN(const std::vector<Blob> all,
                   job->bootstrap->allgather({raw, mine.size() * sizeof(std::uint64_t)}));
  std::set<std::uint64_t> offsets;
  for (const Blob& theirs : all) {
    std::vector<std::uint64_t> some(theirs.size() / sizeof(std::uint64_t));
    if (!some.empty()) std::memcpy(some.data(), theirs.data(), some.size() * sizeof(some[0]));
    offsets.insert(some.begin(), some.end());
  }
  if (offsets.empty()) return Status::ok();
  Status retired;
  for (const std::uint64_t offset : offsets) {
    LOG(kInfo, "memory", "memory adopted at offset {:#x} was freed before disown()", offset);
    Status one = job->gpu->retire(offset);
    if (retired.is_ok()) retired = std::move(one);
  }
  return agree(*job->bootstrap, retired, "giving up memory that was freed");
}

Status Runtime::Impl::adopt_one(const OwnMemory& piece) {
  const Range own{static_cast<std::byte*>(piece.address), piece.bytes};
  const Heap& heap = job->heap_of(own.base);
  const AdoptedRange* const known = own.bytes == 0 ? nullptr : heap.piece_of(own.base, own.bytes);
  const bool on_gpu = is_gpu_memory(piece);
  if (known != nullptr && on_gpu) job->gpu->adopt_again(*known);
  if (known != nullptr) return Status::ok();
  if (on_gpu) return job->gpu->adopt(own);
  RETURN_IF_ERROR(job->heap->adopt(own));
  job->show_adopted();
  return Status::ok();
}

// A failure on one PE alone is a failure on all.
Status Runtime::Impl::for_pieces(const char* routine, const char* doing,
                                 const std::vector<OwnMemory>& pieces, std::string values,
                                 Status (Impl::*one)(const OwnMemory&)) {
  RETURN_IF_ERROR(compare(routine, std::move(values)));
  Status mine;
  for (auto piece = pieces.begin(); mine.is_ok() && piece != pieces.end(); ++piece)
    mine = about(routine, *piece, (this->*one)(*piece));
  RETURN_IF_ERROR(sync_all());
  return agree(*job->bootstrap, mine, doing);
}

Status Runtime::Impl::adopt(const std::vector<OwnMemory>& pieces) {
  RETURN_IF_ERROR(usable());
  ++collective_calls;
  RETURN_IF_ERROR(look_if_some_driver_is_loaded());
  RETURN_IF_ERROR(retire_freed(pieces));
  std::vector<std::string> values;
  for (const OwnMemory& piece : pieces) values.push_back(describe(piece, is_gpu_memory(piece)));
  return for_pieces("adopt", "adopting memory", pieces, fmt::format("{}", fmt::join(values, ", ")),
                    &Impl::adopt_one);
}

// Nobody's operations still go there when the others have come to the same call; and when it
// returns, nobody has the memory mapped. The driver is not asked: the memory may be freed already.
Status Runtime::Impl::disown(const std::vector<OwnMemory>& pieces) {
  RETURN_IF_ERROR(usable());
  ++collective_calls;
  std::vector<std::string> values;
  for (const OwnMemory& piece : pieces)
    values.push_back(describe(piece, job->is_on_gpu(piece.address)));
  return for_pieces("disown", "giving up adopted memory", pieces,
                    fmt::format("{}", fmt::join(values, ", ")), &Impl::disown_one);
}

Status Runtime::Impl::disown_one(const OwnMemory& piece) {
  const Heap& heap = job->heap_of(piece.address);
  const AdoptedRange* const known = heap.piece_of(piece.address, piece.bytes);
  if (known == nullptr || piece.bytes == 0)
    return Status::error(Code::kNotSymmetric,
                         fmt::format("{} bytes at {} have not been adopted, or not all of them",
                                     piece.bytes, piece.address));
  return &heap == job->heap.get() ? Status::ok() : job->gpu->disown(*known);
}

Status Runtime::adopt(const std::vector<OwnMemory>& pieces) {
  const auto alone = impl_->take_job_calls();
  return report(impl_->adopt(pieces));
}

Status Runtime::disown(const std::vector<OwnMemory>& pieces) {
  const auto alone = impl_->take_job_calls();
  return report(impl_->disown(pieces));
}

}  // namespace weft
