// Where the variables of a program lie: what the standard calls symmetric without an allocation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

namespace weft::shmem {

enum class Owner : std::uint8_t { kNobody, kProgram, kProgramAndLibraries };

// The writable pages of the program, and with kProgramAndLibraries also of the shared libraries
// that are loaded now and belong neither to the system (below /lib, /lib64, /usr/lib or /usr/lib64)
// nor to Weft. In load order, which is the same for every PE of a program. Left out: constants,
// also those that the loader had to relocate, and thread-local variables. A piece's name holds the
// build id, so that PEs can tell whether they run the same program.
std::vector<OwnMemory> find_static_data(Owner owner);

}  // namespace weft::shmem
