#include "bootstrap/launchers.hpp"

namespace weft {
namespace {

constexpr LauncherRow kRows[] = {
#define WEFT_LAUNCHER(kind, name, variables) \
  {BootstrapKind::kind, #name, variables, found_##name, check_##name, open_##name},
#include "bootstrap/launchers.def.hpp"
};

}  // namespace

std::span<const LauncherRow> launchers() { return kRows; }

}  // namespace weft
