#include "src/platform/gpu/physical.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>

#include "src/base/status.hpp"
#include "src/platform/cpu/available_memory.hpp"

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

Result<std::unique_ptr<Physical>> Physical::create(const Device& device, std::size_t bytes) {
  abi::Handle memory = 0;
  const auto made = device.call().create(&memory, bytes, &device.memory(), 0);
  if (made.error == abi::Error::kOutOfMemory)
    return device.no_room(made, bytes, "WEFT_GPU_HEAP_CHUNK");
  RETURN_IF_ERROR(device.check(made, fmt::format("take {}", cpu::show_bytes(bytes))));
  return std::make_unique<Physical>(device, memory);
}

Result<std::unique_ptr<Physical>> Physical::retain(const Device& device, std::byte* address) {
  abi::Handle memory = 0;
  RETURN_IF_ERROR(device.check(device.call().retain(&memory, address),
                               fmt::format("find what is mapped at {}", fmt::ptr(address))));
  return std::make_unique<Physical>(device, memory);
}

Result<std::unique_ptr<Physical>> Physical::import(const Device& device, const MemoryBlob& peer) {
  constexpr std::string_view kWhat = "open a peer's memory";
  abi::Handle memory = 0;
  if (peer.way == Way::kFabric) {
    abi::Token token = peer.token;
    RETURN_IF_ERROR(device.check(
        device.call().import_handle(&memory, &token, abi::HandleType::kFabric), kWhat));
  } else {
    Ticket ticket;
    std::memcpy(&ticket, peer.token.data(), sizeof ticket);
    ASSIGN_OR_RETURN(const UniqueFd file,
                     cpu::fetch_fd(ticket.server, ticket.ticket, kFetchSeconds));
    RETURN_IF_ERROR(device.check(device.driver().import_fd(&memory, file.get()), kWhat));
  }
  return std::make_unique<Physical>(device, memory);
}

Physical::~Physical() {
  if (server_ != nullptr) server_->withdraw(ticket_);
  if (!device_.driver().check_process().is_ok()) return;  // a child of fork(): the parent's
  const auto scope = Scope::try_to_enter(device_);        // or none: mappings outlive a context
  device_.warn(device_.call().release(handle_), "release memory");
}

// A handle that is kept is no other memory's, so the same one means the same memory.
bool Physical::is_at(std::byte* address) const {
  abi::Handle now = 0;
  if (device_.call().retain(&now, address).error != abi::Error::kSuccess) return false;
  device_.warn(device_.call().release(now), "release memory");
  return now == handle_;
}

Result<abi::AllocationProperties> Physical::properties() const {
  abi::AllocationProperties properties{};
  RETURN_IF_ERROR(
      device_.check(device_.call().properties(&properties, handle_), "ask how memory was created"));
  return properties;
}

Status Physical::export_token(Way way, abi::Token& token) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device_));
  const auto type = static_cast<abi::HandleType>(way);
  return device_.check(device_.call().export_handle(token.data(), handle_, type, 0),
                       "share memory with other processes");
}

// The descriptor is this process's until the server hands out copies.
Status Physical::offer_file(abi::Token& token) {
  if (!file_) {
    RETURN_IF_ERROR(export_token(Way::kFd, token));
    int fd = -1;
    std::memcpy(&fd, token.data(), sizeof fd);
    file_.reset(fd);
    ::fcntl(file_.get(), F_SETFD, FD_CLOEXEC);  // the driver does not say whether it did
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

Status Physical::share(Way way, MemoryBlob& out) {
  const std::lock_guard lock(mutex_);
  out.way = way;
  return way == Way::kFabric ? export_token(way, out.token) : offer_file(out.token);
}

}  // namespace weft::gpu
