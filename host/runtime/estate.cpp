#include "host/runtime/estate.hpp"

#include <map>

namespace weft {

std::shared_ptr<Estate> Estate::of(const Uuid& job) {
  static std::mutex mutex;
  // It outlives every static Runtime.
  static auto* const estates = new std::map<Uuid, std::weak_ptr<Estate>>;
  const std::lock_guard lock(mutex);
  std::erase_if(*estates, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Estate> estate = (*estates)[job].lock();
  if (estate == nullptr) (*estates)[job] = estate = std::make_shared<Estate>();
  return estate;
}

void Estate::leave(std::shared_ptr<void> heap) {
  const std::lock_guard lock(mutex_);
  left_.push_back(std::move(heap));
}

}  // namespace weft
