// Binding in a build without hwloc.
#include "bootstrap/run/bind.hpp"

namespace weft::run {

Result<std::vector<Binding>> plan_bindings(BindTo, int) {
  return Status::error(Code::kUnsupported,
                       "--bind needs hwloc, and this weft-run was built without it. Install "
                       "libhwloc-dev and pkg-config, then configure with -DWEFT_HWLOC=ON and build "
                       "again");
}

}  // namespace weft::run
