#include "src/platform/gpu/chunk.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>

#include "src/base/status.hpp"
#include "src/platform/cpu/room.hpp"

namespace weft::gpu {
namespace {

// How long a peer's thread may take to hand over a descriptor. It does nothing else, so only a
// stopped process takes long.
constexpr double kFetchSeconds = 30;

// Where a descriptor is, in place of a driver's token.
struct Ticket {
  Uuid server;
  Uuid ticket;
};

}  // namespace

Result<std::shared_ptr<Chunk>> Chunk::commit(const Device& device, Range where) {
  ASSIGN_OR_RETURN(auto reservation, place_of<Reservation>(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, true));
  RETURN_IF_ERROR(chunk->create());
  RETURN_IF_ERROR(chunk->map());
  RETURN_IF_ERROR(device.zero(where));
  return chunk;
}

Result<std::shared_ptr<Chunk>> Chunk::open(const Device& device, const Blob& blob, Range where) {
  ASSIGN_OR_RETURN(const MemoryBlob peer, parse(blob, device, where.bytes));
  ASSIGN_OR_RETURN(auto reservation, place_of<Reservation>(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  if (std::string why = device.why_not_reached(peer.gpu); !why.empty()) {
    return Status::error(Code::kUnsupported, "cannot open a peer's memory: " + why);
  }
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, false));
  RETURN_IF_ERROR(chunk->import(peer));
  RETURN_IF_ERROR(chunk->map());
  return chunk;
}

Status Chunk::create() {
  abi::Handle memory = 0;
  const auto made = device().call().create(&memory, range_.bytes, &device().memory(), 0);
  if (made.error == abi::Error::kOutOfMemory)
    return device().no_room(made, range_.bytes, "WEFT_GPU_HEAP_CHUNK");
  RETURN_IF_ERROR(device().check(made, fmt::format("take {}", cpu::show_bytes(range_.bytes))));
  memory_ = memory;
  return Status::ok();
}

Status Chunk::import(const MemoryBlob& peer) {
  constexpr std::string_view kWhat = "open a peer's memory";
  abi::Handle memory = 0;
  if (device().way() == Way::kFabric) {
    abi::Token token = peer.token;
    RETURN_IF_ERROR(device().check(
        device().call().import_handle(&memory, &token, abi::HandleType::kFabric), kWhat));
  } else {
    Ticket ticket;
    std::memcpy(&ticket, peer.token.data(), sizeof ticket);
    ASSIGN_OR_RETURN(const UniqueFd file,
                     cpu::fetch_fd(ticket.server, ticket.ticket, kFetchSeconds));
    RETURN_IF_ERROR(device().check(device().driver().import_fd(&memory, file.get()), kWhat));
  }
  memory_ = memory;
  return Status::ok();
}

Status Chunk::map() {
  RETURN_IF_ERROR(reservation_->map(range_, *memory_));
  mapped_ = true;
  return device().allow(range_);
}

Chunk::~Chunk() {
  if (server_ != nullptr) server_->withdraw(ticket_);
  const auto scope = Scope::enter(device());
  if (!scope) return;  // a child of fork(): it is the parent's
  if (mapped_) reservation_->unmap(range_);
  if (memory_) warn(device().check(device().call().release(*memory_), "release memory"));
}

Status Chunk::export_token(abi::Token& token) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device()));
  const auto shared =
      device().call().export_handle(token.data(), *memory_, device().memory().handle_types, 0);
  return device().check(shared, "share memory with other processes");
}

// The descriptor is this process's until the server hands out copies.
Status Chunk::offer_file(abi::Token& token) {
  if (!file_) {
    RETURN_IF_ERROR(export_token(token));
    int fd = -1;
    std::memcpy(&fd, token.data(), sizeof fd);
    file_.reset(fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // the driver does not say whether it did
  }
  if (server_ == nullptr) {
    ASSIGN_OR_RETURN(server_, cpu::FdServer::get());
    ticket_ = random_uuid();
    server_->offer(ticket_, file_.get());
  }
  const Ticket ticket{server_->name(), ticket_};
  token = {};
  std::memcpy(token.data(), &ticket, sizeof ticket);
  return Status::ok();
}

Result<Blob> Chunk::share() {
  if (!is_mine_) {
    return Status::error(Code::kInvalidArgument,
                         "a chunk that was opened from a peer cannot be shared on; its owner can");
  }
  MemoryBlob out = describe(device(), range_.bytes);
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(device().way() == Way::kFabric ? export_token(out.token) : offer_file(out.token));
  return pack(out);
}

}  // namespace weft::gpu
