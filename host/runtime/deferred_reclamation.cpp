#include "host/runtime/deferred_reclamation.hpp"

#include <map>

namespace weft {

std::shared_ptr<DeferredReclamation> DeferredReclamation::of(const Uuid& job) {
  static std::mutex mutex;
  // It outlives every static Runtime.
  static auto* const by_job = new std::map<Uuid, std::weak_ptr<DeferredReclamation>>;
  const std::lock_guard lock(mutex);
  std::erase_if(*by_job, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<DeferredReclamation> reclamation = (*by_job)[job].lock();
  if (reclamation == nullptr)
    (*by_job)[job] = reclamation = std::make_shared<DeferredReclamation>();
  return reclamation;
}

void DeferredReclamation::defer(std::shared_ptr<void> heap) {
  const std::lock_guard lock(mutex_);
  left_.push_back(std::move(heap));
}

}  // namespace weft
