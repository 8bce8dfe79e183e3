#include "src/platform/gpu/peer_block.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "src/base/status.hpp"

namespace weft::gpu {

Result<std::shared_ptr<PeerBlock>> PeerBlock::open(const Device& device, const abi::Token& token) {
  static std::mutex mutex;
  static auto* const all =
      new std::map<std::pair<const Device*, abi::Token>, std::weak_ptr<PeerBlock>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<PeerBlock>& known = (*all)[{&device, token}];
  if (auto block = known.lock()) return block;
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  abi::Pointer memory = 0;
  RETURN_IF_ERROR(device.check(device.call().ipc_open(&memory, token, abi::kEnablePeerAccess),
                               "open a peer's memory"));
  auto block = std::make_shared<PeerBlock>(device, memory);
  known = block;
  return block;
}

PeerBlock::~PeerBlock() {
  if (const auto scope = Scope::to_release(device_))
    device_.warn(device_.call().ipc_close(memory_), "close a peer's memory");
}

}  // namespace weft::gpu
