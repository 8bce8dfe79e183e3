// DeferredReclamation: heaps whose PEs are gone while others of the job may still touch them.
//
// PEs that are threads of one process use each other's heap as it is. When the job ends in order,
// all have left before a heap goes away. When it does not (an abort, a lost peer), a PE that is
// gone leaves its heap here, and it stays until the last PE of the job in this process is gone.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "src/platform/platform.hpp"

namespace weft {

class DeferredReclamation {
 public:
  // The same object for all PEs of this process that give the same `job`.
  static std::shared_ptr<DeferredReclamation> of(const Uuid& job);
  void defer(std::shared_ptr<void> heap);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> left_;  // guarded by mutex_
};

}  // namespace weft
