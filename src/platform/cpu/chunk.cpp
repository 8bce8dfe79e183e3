#include "src/platform/cpu/chunk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "src/base/file_size_signal.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/fd_of_process.hpp"
#include "src/platform/cpu/placement.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::cpu {
namespace {

// How long a peer's thread may take to hand over a descriptor. It does nothing else, so only a
// stopped process takes long.
constexpr double kFetchSeconds = 30;

// share() tells open() this: where the descriptor is, by either way, and what it must be.
struct ChunkBlob {
  static constexpr std::uint64_t kMagic = 0x3230'6b6e'7566'7477;
  std::uint64_t magic = kMagic;
  Uuid server{};
  Uuid ticket{};
  std::uint64_t lead = 0;
  std::uint64_t bytes = 0;
  std::uint64_t huge = 0;
  std::int64_t pid = 0;
  std::int64_t fd = 0;
};
static_assert(std::is_trivially_copyable_v<ChunkBlob>);

Result<ChunkBlob> parse(const Blob& blob, std::size_t want) {
  ChunkBlob parsed;
  if (blob.size() == sizeof parsed) std::memcpy(&parsed, blob.data(), sizeof parsed);
  if (blob.size() != sizeof parsed || parsed.magic != ChunkBlob::kMagic ||
      parsed.lead % page_bytes() != 0 || parsed.lead >= kHugePage) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes that do not describe memory of the CPU platform; "
                                     "do all PEs run the same build of Weft?",
                                     blob.size()));
  }
  if (parsed.bytes != want) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("a peer's chunk has {} bytes and shall be mapped on {}; do all "
                    "PEs have the same WEFT_HEAP_SIZE and WEFT_HEAP_CHUNK?",
                    parsed.bytes, want));
  }
  return parsed;
}

// The owner sealed the file's size, so that nobody can take pages away from under a mapping.
Status check_file(int fd, std::uint64_t bytes) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < bytes ||
      (::fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    return Status::error(
        Code::kIo, fmt::format("a peer's chunk should be a sealed file of {} bytes and has {}",
                               bytes, facts.st_size));
  }
  return Status::ok();
}

// More than the machine can have at all is refused; the kernel may grant what it does not seem to
// have now.
Status check_room(std::size_t bytes) {
  const AvailableMemory room = available_memory();
  if (bytes <= room.bytes) return Status::ok();
  if (bytes <= room.most) {
    LOG(kWarn, "platform",
        "{} of memory asked for, {} available ({}): the system may find more, or end a process",
        show_bytes(bytes), show_bytes(room.bytes), room.limit);
    return Status::ok();
  }
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("{} of memory asked for, {} available ({}). Ask for less, or give this process "
                  "more memory",
                  show_bytes(bytes), show_bytes(room.bytes), room.limit));
}

}  // namespace

Result<std::shared_ptr<Chunk>> Chunk::commit(Range where, const MemoryHints& hints) {
  ASSIGN_OR_RETURN(auto reservation, Reservation::containing(where));
  const std::size_t needed = hints.needed_bytes == 0 ? where.bytes : hints.needed_bytes;
  RETURN_IF_ERROR(check_room(std::min(needed, where.bytes)));
  // A chunk lies in its file as it lies in memory, counted from a huge page's edge: so that huge
  // pages fit both, here and in a peer whose reservation begins on such an edge, too.
  const auto lead = static_cast<std::size_t>(where.base - reservation->range().base) % kHugePage;
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where));
  chunk->lead_ = lead;
  RETURN_IF_ERROR(chunk->make_file());
  RETURN_IF_ERROR(chunk->map(chunk->file_.get(), lead));
  ASSIGN_OR_RETURN(chunk->huge_, use_huge_pages(where, hints));
  if (hints.numa_local) prefer_local_node(where);
  return chunk;
}

// No check of room: the process has this memory already.
Result<std::shared_ptr<Chunk>> Chunk::adopt(Range own, Range where) {
  ASSIGN_OR_RETURN(auto reservation, Reservation::containing(where));
  const auto lead = static_cast<std::size_t>(where.base - reservation->range().base) % kHugePage;
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where));
  chunk->lead_ = lead;
  RETURN_IF_ERROR(chunk->make_file());
  RETURN_IF_ERROR(chunk->map(chunk->file_.get(), lead));
  ASSIGN_OR_RETURN(chunk->adoption_, Adoption::make(own, where, chunk->file_.get(), lead));
  return chunk;
}

Result<std::shared_ptr<Chunk>> Chunk::open(const Blob& blob, Range where) {
  ASSIGN_OR_RETURN(const ChunkBlob peer, parse(blob, where.bytes));
  ASSIGN_OR_RETURN(auto reservation, Reservation::containing(where));
  UniqueFd file = open_fd_of(peer.pid, peer.fd, peer.ticket);
  if (!file) {
    ASSIGN_OR_RETURN(file, fetch_fd(peer.server, peer.ticket, kFetchSeconds));
  }
  RETURN_IF_ERROR(check_file(file.get(), peer.lead + peer.bytes));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where));
  RETURN_IF_ERROR(chunk->map(file.get(), peer.lead));
  MemoryHints hints;
  hints.huge_pages_wanted = peer.huge != 0;
  ASSIGN_OR_RETURN(chunk->huge_, use_huge_pages(where, hints));
  return chunk;
}

Status Chunk::make_file() {
  file_ = make_named_memory(ticket_);
  if (!file_) {
    const bool many = errno == EMFILE || errno == ENFILE;
    return Status::error(
        Code::kOutOfMemory,
        fmt::format("no file for a chunk of memory: memfd_create: {}{}", std::strerror(errno),
                    many
                        ? "; raise the limit on open files (ulimit -n), or WEFT_HEAP_CHUNK so that "
                          "there are fewer chunks"
                        : ""));
  }
  const NoFileSizeSignal limited;
  if (::ftruncate(file_.get(), static_cast<off_t>(lead_ + range_.bytes)) != 0) {
    return Status::error(Code::kOutOfMemory,
                         fmt::format("a file of {} in memory was refused: {}; see ulimit -f",
                                     show_bytes(lead_ + range_.bytes), std::strerror(errno)));
  }
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Status::error(Code::kIo,
                         fmt::format("cannot seal the file of a chunk: {}", std::strerror(errno)));
  }
  return Status::ok();
}

Status Chunk::map(int fd, std::size_t lead) {
  RETURN_IF_ERROR(reservation_->map(range_, fd, lead));
  mapped_ = true;
  return Status::ok();
}

Chunk::~Chunk() {
  if (server_ != nullptr) server_->withdraw(ticket_);
  if (mapped_) reservation_->unmap(range_);
}

Result<Blob> Chunk::share() {
  if (!file_) {
    return Status::error(Code::kInvalidArgument,
                         "a chunk that was opened from a peer cannot be shared on; its owner can");
  }
  const std::lock_guard lock(mutex_);
  if (server_ == nullptr) {
    ASSIGN_OR_RETURN(server_, FdServer::get());
    server_->offer(ticket_, file_.get());
  }
  ChunkBlob out;
  out.server = server_->name();
  out.ticket = ticket_;
  out.lead = lead_;
  out.bytes = range_.bytes;
  out.huge = huge_ ? 1 : 0;
  out.pid = ::getpid();
  out.fd = file_.get();
  Blob blob(sizeof out);
  std::memcpy(blob.data(), &out, sizeof out);
  return blob;
}

}  // namespace weft::cpu
