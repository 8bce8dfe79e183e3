// Global and static variables are symmetric (1.5, section 4) from shmem_init to shmem_finalize.
#pragma once

#include <vector>

#include <weft/options.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>

namespace weft::shmem {

class StaticData {
 public:
  // Does as options.static_data says, and raises options.adopt_size where that is too small for it.
  explicit StaticData(Options* options);
  // Collective. Fails on every PE alike if they do not run the same program.
  Status share(Runtime& runtime) const;

 private:
  std::vector<OwnMemory> pieces_;
};

}  // namespace weft::shmem
