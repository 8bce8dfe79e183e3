#include "src/platform/gpu/chunk.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdint>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/room.hpp"
#include "src/platform/gpu/chunk_blob.hpp"

namespace weft::gpu {
namespace {

// How long a peer's thread may take to hand over a descriptor. It does nothing else, so only a
// stopped process takes long.
constexpr double kFetchSeconds = 30;

Result<std::shared_ptr<Reservation>> place_of(const Device& device, Range where) {
  const std::size_t unit = device.granularity();
  if (where.bytes == 0 || abi::pointer(where.base) % unit != 0 || where.bytes % unit != 0) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes at {} are not whole pages of {} bytes, as {} has "
                                     "them",
                                     where.bytes, fmt::ptr(where.base), unit, device.describe()));
  }
  ASSIGN_OR_RETURN(auto reservation, Reservation::containing(where));
  if (&reservation->device() == &device) return reservation;
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{} bytes at {} were reserved for {}, not for {}", where.bytes,
                  fmt::ptr(where.base), reservation->device().describe(), device.describe()));
}

// What was asked and what is there, which the driver's error does not say.
Status no_room(const Device& device, std::size_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  RETURN_IF_ERROR(device.check(device.call().memory_info(&free, &total), "cuMemGetInfo",
                               "ask how much memory is free"));
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("{} of memory of {} asked for, {} of {} free (cuMemCreate: "
                  "CUDA_ERROR_OUT_OF_MEMORY). Ask for less, lower WEFT_GPU_HEAP_CHUNK if it is the "
                  "chunk that is too large, or end what else uses the GPU (nvidia-smi)",
                  cpu::show_bytes(bytes), device.describe(), cpu::show_bytes(free),
                  cpu::show_bytes(total)));
}

}  // namespace

Result<std::shared_ptr<Chunk>> Chunk::commit(const Device& device, Range where) {
  ASSIGN_OR_RETURN(auto reservation, place_of(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, true));
  RETURN_IF_ERROR(chunk->create());
  RETURN_IF_ERROR(chunk->map());
  RETURN_IF_ERROR(chunk->zero());
  return chunk;
}

Result<std::shared_ptr<Chunk>> Chunk::open(const Device& device, const Blob& blob, Range where) {
  ASSIGN_OR_RETURN(const ChunkBlob peer, parse(blob, where.bytes));
  ASSIGN_OR_RETURN(auto reservation, place_of(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  if (std::string why = device.why_not_reached(peer.gpu); !why.empty()) {
    return Status::error(Code::kUnsupported, "cannot open a peer's memory: " + why);
  }
  ASSIGN_OR_RETURN(const UniqueFd file, cpu::fetch_fd(peer.server, peer.ticket, kFetchSeconds));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, false));
  RETURN_IF_ERROR(chunk->import(file.get()));
  RETURN_IF_ERROR(chunk->map());
  return chunk;
}

Status Chunk::create() {
  abi::Handle memory = 0;
  const auto error = device().call().create(&memory, range_.bytes, &device().memory(), 0);
  if (error == abi::Error::kOutOfMemory) return no_room(device(), range_.bytes);
  RETURN_IF_ERROR(
      device().check(error, "cuMemCreate", fmt::format("take {}", cpu::show_bytes(range_.bytes))));
  memory_ = memory;
  return Status::ok();
}

Status Chunk::import(int fd) {
  abi::Handle memory = 0;
  void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
  RETURN_IF_ERROR(
      device().check(device().call().import_handle(&memory, number, abi::HandleType::kPosixFd),
                     "cuMemImportFromShareableHandle", "open a peer's memory"));
  memory_ = memory;
  return Status::ok();
}

Status Chunk::map() {
  RETURN_IF_ERROR(reservation_->map(range_, *memory_));
  mapped_ = true;
  return device().allow(range_);
}

Status Chunk::zero() {
  const auto& call = device().call();
  RETURN_IF_ERROR(
      device().check(call.set_bytes(abi::pointer(range_.base), 0, range_.bytes, device().stream()),
                     "cuMemsetD8Async", "zero new memory"));
  return device().check(call.stream_synchronize(device().stream()), "cuStreamSynchronize",
                        "zero new memory");
}

Chunk::~Chunk() {
  if (server_ != nullptr) server_->withdraw(ticket_);
  const auto scope = Scope::enter(device());
  if (!scope) return;  // a child of fork(): it is the parent's
  if (mapped_) reservation_->unmap(range_);
  if (!memory_) return;
  const Status released =
      device().check(device().call().release(*memory_), "cuMemRelease", "release memory");
  if (!released.is_ok()) LOG(kWarn, "platform", "{}", released.text());
}

Status Chunk::export_file() {
  if (device().memory().handle_types != abi::HandleType::kPosixFd) {
    return Status::error(Code::kUnsupported,
                         fmt::format("the driver cannot share memory of {} with other processes "
                                     "as a file descriptor; is it a virtual GPU, or WSL?",
                                     device().describe()));
  }
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device()));
  int fd = -1;
  RETURN_IF_ERROR(
      device().check(device().call().export_handle(&fd, *memory_, abi::HandleType::kPosixFd, 0),
                     "cuMemExportToShareableHandle", "share memory with other processes"));
  file_.reset(fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // the driver does not say whether it did
  return Status::ok();
}

Result<Blob> Chunk::share() {
  if (!is_mine_) {
    return Status::error(Code::kInvalidArgument,
                         "a chunk that was opened from a peer cannot be shared on; its owner can");
  }
  const std::lock_guard lock(mutex_);
  if (server_ == nullptr) {
    if (!file_) RETURN_IF_ERROR(export_file());
    ASSIGN_OR_RETURN(server_, cpu::FdServer::get());
    ticket_ = random_uuid();
    server_->offer(ticket_, file_.get());
  }
  ChunkBlob out;
  out.server = server_->name();
  out.ticket = ticket_;
  out.gpu = device().identity();
  out.bytes = range_.bytes;
  return pack(out);
}

}  // namespace weft::gpu
