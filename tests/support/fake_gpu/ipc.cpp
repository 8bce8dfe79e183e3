// Allocations, and tokens by which other processes map them or memory that was created: they name
// the file where it is open.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "tests/support/fake_gpu/dmabuf.hpp"
#include "tests/support/fake_gpu/state.hpp"

namespace weft::fake_gpu {

using gpu::abi::address;

namespace {

struct Contents {
  int process, file, device;
  std::size_t bytes;
  std::uint64_t id;
};
static_assert(sizeof(Contents) <= sizeof(Token));

Error map(Allocation allocation, Pointer* memory) {
  void* const wish = address(std::exchange(state().last_freed[allocation.bytes], 0));
  void* const found =
      ::mmap(wish, allocation.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, allocation.file.get(), 0);
  if (found == MAP_FAILED) return Error::kOperatingSystem;
  *memory = gpu::abi::pointer(found);
  state().allocations[*memory] = std::move(allocation);
  return Error::kSuccess;
}

Error unmap(Pointer memory, bool created_here) {
  auto& all = state().allocations;
  const auto found = all.find(memory);
  if (found == all.end() || found->second.is_created_here != created_here) {
    return Error::kInvalidValue;
  }
  ::munmap(address(memory), found->second.bytes);
  state().last_freed[found->second.bytes] = memory;
  if (created_here) state().used[found->second.device] -= found->second.bytes;
  all.erase(found);
  return Error::kSuccess;
}

struct Piece {
  Pointer base = 0;
  std::size_t bytes = 0;
  bool holds(const Piece& part) const {
    return part.base - base <= bytes && part.bytes <= bytes - (part.base - base);
  }
};

// The memory at `address` that was created or allocated as one; empty: none was.
Piece piece_at(Pointer address) {
  if (const auto* const mapped = mapping_at(address)) return {mapped->first, mapped->second.bytes};
  if (const auto* const allocated = allocation_at(address))
    return {allocated->first, allocated->second.bytes};
  return {};
}

// One piece after the other.
bool is_backed(Piece wanted) {
  for (;;) {
    const Piece piece = piece_at(wanted.base);
    if (piece.holds(wanted)) return piece.bytes != 0;
    if (piece.bytes == 0) return false;
    const std::size_t known = piece.base + piece.bytes - wanted.base;
    wanted = {wanted.base + known, wanted.bytes - known};
  }
}

}  // namespace

Error export_dmabuf(const char* function, Pointer base, std::size_t bytes, int* file,
                    std::uint64_t* offset) {
  Call call(function, Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (!call->settings.dmabuf) return Error::kNotSupported;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const Piece whole = piece_at(base);
  const Piece wanted{base, bytes};
  const bool fits = offset == nullptr ? is_backed(wanted) : whole.holds(wanted);
  if (bytes == 0 || !fits || base % page != 0 || bytes % page != 0) return Error::kInvalidValue;
  const Piece& named = offset == nullptr ? wanted : whole;
  if (offset != nullptr) *offset = base - whole.base;
  test::FakeDmabuf made;
  made.base = named.base;
  made.bytes = named.bytes;
  UniqueFd out(::memfd_create("fake-dmabuf", MFD_CLOEXEC));
  if (!out || ::write(out.get(), &made, sizeof made) != sizeof made) return Error::kOperatingSystem;
  *file = out.release();
  return Error::kSuccess;
}

Token token_of(int device, int file, std::size_t bytes, std::uint64_t id) {
  const Contents contents{::getpid(), file, device, bytes, id};
  Token token{};
  std::memcpy(token.data(), &contents, sizeof contents);
  return token;
}

UniqueFd open_token(const Token& token, int* device, std::size_t* bytes) {
  Contents contents{};
  std::memcpy(&contents, token.data(), sizeof contents);
  *device = contents.device;
  *bytes = contents.bytes;
  const std::string path =
      "/proc/" + std::to_string(contents.process) + "/fd/" + std::to_string(contents.file);
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

Error allocate(Pointer* memory, std::size_t bytes) {
  Call call("cuMemAlloc_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  const int device = current();
  if (bytes == 0) return Error::kInvalidValue;
  if (bytes > call->settings.bytes - call->used[device]) return Error::kOutOfMemory;
  UniqueFd file = dirty_file(device, bytes);
  if (!file) return Error::kOperatingSystem;
  const Error mapped = map({bytes, device, std::move(file), true, -1, ++call->last_id}, memory);
  if (mapped == Error::kSuccess) call->used[device] += bytes;
  return mapped;
}

void drop_allocations() {
  while (!state().allocations.empty()) {
    const auto& [memory, allocation] = *state().allocations.begin();
    unmap(memory, allocation.is_created_here);
  }
}

Error reach(int peer) {
  if (!reaches(current(), peer)) return Error::kPeerAccessUnsupported;
  return state().enabled.insert({current(), peer}).second ? Error::kSuccess
                                                          : Error::kPeerAccessAlreadyEnabled;
}

}  // namespace weft::fake_gpu

namespace weft::gpu::abi {

using fake_gpu::Call;

extern "C" Error FAKE_NAME(cuMemFree_v2, hipFree)(Pointer memory) {
  Call call("cuMemFree_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  return fake_gpu::unmap(memory, true);
}

extern "C" Error FAKE_NAME(cuIpcGetMemHandle, hipIpcGetMemHandle)(Token* token, Pointer memory) {
  Call call("cuIpcGetMemHandle", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  const auto found = call->allocations.find(memory);
  if (found == call->allocations.end() || !found->second.is_created_here) {
    return Error::kInvalidValue;
  }
  const auto& allocation = found->second;
  *token =
      fake_gpu::token_of(allocation.device, allocation.file.get(), allocation.bytes, allocation.id);
  return Error::kSuccess;
}

// As with the drivers, memory of this process itself is not opened.
extern "C" Error FAKE_NAME(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle)(Pointer* memory, Token token,
                                                                       unsigned flags) {
  Call call("cuIpcOpenMemHandle_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (flags != kEnablePeerAccess) return Error::kInvalidValue;
  int process = 0;
  std::memcpy(&process, token.data(), sizeof process);
  if (process == ::getpid()) return Error::kInvalidContext;
  fake_gpu::Allocation theirs{};
  theirs.file = fake_gpu::open_token(token, &theirs.device, &theirs.bytes);
  if (!theirs.file) return Error::kInvalidValue;
  if (!fake_gpu::reaches(fake_gpu::current(), theirs.device)) return Error::kPeerAccessUnsupported;
  theirs.opener = fake_gpu::current();
  return fake_gpu::map(std::move(theirs), memory);
}

extern "C" Error FAKE_NAME(cuIpcCloseMemHandle, hipIpcCloseMemHandle)(Pointer memory) {
  Call call("cuIpcCloseMemHandle", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  return fake_gpu::unmap(memory, false);
}

}  // namespace weft::gpu::abi
