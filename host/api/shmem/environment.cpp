// The environment variables that OpenSHMEM names itself.
#include <cmath>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include <weft/version.hpp>

#include "host/api/environment.hpp"
#include "host/api/shmem/state.hpp"

namespace weft::shmem {

namespace {

// SHMEM_x, or SMA_x as it was called before 1.4.
std::string shmem_variable(const std::string& name) {
  return (variable("SHMEM_" + name) != nullptr ? "SHMEM_" : "SMA_") + name;
}
const char* shmem_value_of(const std::string& name) { return variable(shmem_variable(name)); }

// Active sets are teams, and programs make many of them; the words of one that is never made cost
// no memory. A user who bounds the heap bounds this, too.
Status make_room_for_sets(Options* options) {
  if (variable("WEFT_MAX_TEAMS") != nullptr || variable("WEFT_HEAP_SIZE") != nullptr)
    return Status::ok();
  return options->set("WEFT_MAX_TEAMS", "256");
}

}  // namespace

Status read_environment(Options* options) {
  if (Status made = make_room_for_sets(options); !made.is_ok()) return made;
  if (shmem_value_of("DEBUG") != nullptr) set_default("WEFT_LOG", "debug");
  const std::string name = shmem_variable("SYMMETRIC_SIZE");
  const char* const text = variable(name);
  if (text == nullptr || variable("WEFT_HEAP_SIZE") != nullptr) return Status::ok();
  const double bytes = bytes_in(text);
  if (bytes < 0 || bytes > std::ldexp(1.0, 62))
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}=\"{}\" is not a size: a number of bytes, which may end in "
                                     "K, M, G or T",
                                     name, text));
  // The heap also holds what teams need; the program's share must not be smaller for that.
  constexpr double kOwnShare = 64.0 * 1024 * 1024;
  return options->set("WEFT_HEAP_SIZE",
                      std::to_string(static_cast<unsigned long long>(bytes + kOwnShare)), name);
}

void greet(const Runtime& rt) {
  if (rt.pe() != 0) return;
  if (shmem_value_of("VERSION") != nullptr)
    std::printf("%s %s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, WEFT_VERSION, SHMEM_MAJOR_VERSION,
                SHMEM_MINOR_VERSION);
  if (shmem_value_of("INFO") != nullptr)
    std::puts(
        "SHMEM_VERSION         print the library's version at start\n"
        "SHMEM_INFO            print this text at start\n"
        "SHMEM_SYMMETRIC_SIZE  most bytes of the symmetric heap: a number, then K, M, G or T;\n"
        "                      WEFT_HEAP_SIZE, if set, comes first\n"
        "SHMEM_DEBUG           log more; WEFT_LOG, if set, comes first\n"
        "Weft's own variables: weft-info --options");
  std::fflush(stdout);
}

}  // namespace weft::shmem
