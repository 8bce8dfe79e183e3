// The launchers of launchers.def.hpp.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <weft/options.hpp>
#include <weft/result.hpp>

#include "bootstrap/choose.hpp"
#include "bootstrap/launcher.hpp"

namespace weft {

struct LauncherRow {
  BootstrapKind kind;
  const char* name;  // as WEFT_BOOTSTRAP has it
  const char* variables;
  // By what it is known that this launcher started the process; "": it did not.
  std::string (*found)(const Surroundings&);
  // Why it cannot be used though WEFT_BOOTSTRAP names it.
  Status (*check)(const Surroundings&);
  // The handshake, once.
  Result<std::unique_ptr<Launcher>> (*open)(const Options&, const Surroundings&);
};
std::span<const LauncherRow> launchers();

#define WEFT_LAUNCHER(kind, name, variables)     \
  std::string found_##name(const Surroundings&); \
  Status check_##name(const Surroundings&);      \
  Result<std::unique_ptr<Launcher>> open_##name(const Options&, const Surroundings&);
#include "bootstrap/launchers.def.hpp"

}  // namespace weft
