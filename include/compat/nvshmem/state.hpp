// The state that kernels with NVSHMEM's names find without being given it, and how it gets there:
// shared by the library libweft_nvshmem and by each translation unit that nvcc compiles.
//
// Each unit holds one ModuleState in constant memory, the symbol kModuleStateSymbol, all zero until
// the library fills it in: for units of a program or library through the list of Modules below, for
// what is loaded with cuModuleLoad (nvshmemx_cumodule_init, nvshmemx_culibrary_init) by looking the
// symbol up with cuModuleGetGlobal or cuLibraryGetGlobal. Without -rdc=true the symbol is local to
// its unit, with it there is one per device link; its name is the same, since it is in no
// namespace (module state.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/target.hpp>
#include <weft/team.hpp>

namespace weft::nvshmem {

inline constexpr const char* kModuleStateSymbol = "weft_nvshmem_module_state";
// Says that a ModuleState is filled in, and by a library that means the same by it.
inline constexpr std::uint64_t kModuleStateMagic = 0x7765'6674'0001'0000u + sizeof(DeviceContext);

struct ModuleState {
  std::uint64_t magic = 0;      // kModuleStateMagic; anything else: kernels trap, saying why
  DeviceContext context;        // of the runtime's default context
  Team world;                   // teams[NVSHMEM_TEAM_WORLD], which most calls want, without a load
  const Team* teams = nullptr;  // by nvshmem_team_t, in memory that kernels can load; those that do
                                // not exist have rank -1
  std::int32_t team_count = 0;
};

}  // namespace weft::nvshmem

extern "C" {

// A node of the library's list; lies in the unit and lives as long.
struct weft_nvshmem_module {
  // Copies a ModuleState to the unit's symbol on the current device; the cudaError_t of that. A
  // unit whose ModuleState is of another size refuses with cudaErrorInvalidValue. A library that is
  // being loaded may attach before CUDA knows its symbols (cudaErrorInvalidSymbol): try again
  // later.
  int (*set)(const void* module_state, std::size_t bytes);
  weft_nvshmem_module* next;  // the list's
};

// Before main() or, for a library that is loaded later, in dlopen(); at once if nvshmem_init was
// before. Any thread.
WEFT_API void weft_nvshmem_attach(weft_nvshmem_module* module);
// In dlclose(), or after main().
WEFT_API void weft_nvshmem_detach(weft_nvshmem_module* module);
}

namespace weft::nvshmem {

// A unit's module is the library's for as long as the unit is loaded.
class Attached {
 public:
  explicit Attached(weft_nvshmem_module* module) : module_(module) { weft_nvshmem_attach(module_); }
  ~Attached() { weft_nvshmem_detach(module_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  weft_nvshmem_module* const module_;
};

}  // namespace weft::nvshmem
