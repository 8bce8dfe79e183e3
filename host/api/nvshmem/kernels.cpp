// The runtime as kernels find it: each module of the program holds a ModuleState, which is set
// here.
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <nvshmem/state.hpp>

#include "host/api/nvshmem/driver.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

constexpr int kInvalidSymbol = 13;  // cudaErrorInvalidSymbol: CUDA does not know the module yet

// No destructor: modules detach at the very end.
struct Kernels {
  std::mutex mutex;  // guards the list, and who is told what
  weft_nvshmem_module* modules = nullptr;
  ModuleState module_state;
  Team* table = nullptr;  // symmetric memory
};
Kernels& kernels() {
  static Kernels* const kernels = new Kernels;
  return *kernels;
}
// Some module did not know its symbol yet.
std::atomic<bool> somebody_waits{false};

// Where there is no GPU there is nothing that a module could do wrong.
Status tell(const Runtime& rt, const weft_nvshmem_module& module, const ModuleState& module_state) {
  const int error = module.set(&module_state, sizeof(module_state));
  if (error == kInvalidSymbol) somebody_waits.store(true, std::memory_order_relaxed);
  if (error == 0 || error == kInvalidSymbol || rt.gpu() < 0) return Status::ok();
  return Status::error(
      Code::kVersionMismatch,
      fmt::format("{}: the kernels of this program cannot be told where the runtime is (CUDA's "
                  "error {}). Build the program with the headers of the Weft that it runs with, "
                  "for the GPU that it runs on",
                  detail::caller_name == nullptr ? "nvshmem_init" : detail::caller_name, error));
}

Status tell_all(const Runtime& rt, const ModuleState& module_state) {
  Kernels& k = kernels();
  somebody_waits.store(false, std::memory_order_relaxed);
  Status first;
  for (const weft_nvshmem_module* m = k.modules; m != nullptr; m = m->next) {
    Status told = tell(rt, *m, module_state);
    if (first) first = std::move(told);
  }
  return first;
}

// To the symbol of a module that the driver has loaded.
Status give(const Driver& driver, const Status& found, Driver::Pointer symbol, std::size_t bytes,
            const ModuleState& module_state) {
  if (!found)
    return Status::error(found.code(),
                         fmt::format("the module has no {}, which nvshmem.h puts into each that "
                                     "uses it: {}",
                                     kModuleStateSymbol, found.text()));
  if (bytes == sizeof(module_state)) return driver.copy_in(symbol, &module_state, bytes);
  return Status::error(Code::kVersionMismatch,
                       fmt::format("the module's {} has {} bytes, not {}: build it with the "
                                   "headers of the Weft that it runs with",
                                   kModuleStateSymbol, bytes, sizeof(module_state)));
}

template <class Find>
int give(const char* routine, Find find, const ModuleState& module_state) {
  const Call call(routine);
  if (!call) return NVSHMEMX_ERROR_INTERNAL;
  auto driver = Driver::open(call.runtime_of().options().cuda_library);
  if (!driver) return refuse(routine, driver.status().code(), driver.status().text());
  Driver::Pointer symbol = 0;
  std::size_t bytes = 0;
  const Status found = find(*driver, &symbol, &bytes);
  const Status given = give(*driver, found, symbol, bytes, module_state);
  return given ? NVSHMEMX_SUCCESS : refuse(routine, given.code(), given.text());
}

int give_module(const char* routine, CUmodule module, const ModuleState& module_state) {
  return give(
      routine,
      [module](const Driver& driver, Driver::Pointer* at, std::size_t* bytes) {
        return driver.module_symbol(module, kModuleStateSymbol, at, bytes);
      },
      module_state);
}

int give_library(const char* routine, CUlibrary library, const ModuleState& module_state) {
  return give(
      routine,
      [library](const Driver& driver, Driver::Pointer* at, std::size_t* bytes) {
        return driver.library_symbol(library, kModuleStateSymbol, at, bytes);
      },
      module_state);
}

}  // namespace

std::size_t most_teams(const Runtime& rt) {
  return NVSHMEM_TEAMS_MIN + static_cast<std::size_t>(rt.options().max_teams);
}

Status start_kernels(Runtime& rt) {
  Kernels& k = kernels();
  const std::size_t count = most_teams(rt);
  auto table = rt.allocate_device<Team>(count);
  if (!table) return table.status();
  const std::vector<Team> none(count);
  Status cleared = rt.context().put(*table, none.data(), count, rt.pe());
  if (!cleared) return cleared;
  auto context = rt.context().device();
  if (!context) return context.status();
  k.table = *table;
  k.module_state = {kModuleStateMagic, *context, rt.world(), *table,
                    static_cast<std::int32_t>(count)};
  return Status::ok();
}

Status show_team(Runtime& rt, nvshmem_team_t number, const Team& team) {
  return rt.context().put(kernels().table + number, &team, 1, rt.pe());
}

Status tell_modules(Runtime& rt) {
  Kernels& k = kernels();
  const std::lock_guard lock(k.mutex);
  return tell_all(rt, k.module_state);
}

void tell_modules_that_wait(Runtime& rt) {
  if (!somebody_waits.load(std::memory_order_relaxed)) [[likely]]
    return;
  report(tell_modules(rt)).ignore();
}

void stop_kernels(Runtime& rt) {
  Kernels& k = kernels();
  const std::lock_guard lock(k.mutex);
  k.module_state = ModuleState{};
  k.table = nullptr;
  report(tell_all(rt, k.module_state)).ignore();
}

int module_init(const char* routine, CUmodule module) {
  return give_module(routine, module, kernels().module_state);
}
int module_finalize(const char* routine, CUmodule module) {
  return give_module(routine, module, ModuleState{});
}
int library_init(const char* routine, CUlibrary library) {
  return give_library(routine, library, kernels().module_state);
}
int library_finalize(const char* routine, CUlibrary library) {
  return give_library(routine, library, ModuleState{});
}

}  // namespace weft::nvshmem

void weft_nvshmem_attach(weft_nvshmem_module* module) {
  auto& k = weft::nvshmem::kernels();
  const std::lock_guard lock(k.mutex);
  module->next = k.modules;
  k.modules = module;
  if (weft::Runtime* const rt = weft::nvshmem::runtime_if_any())
    weft::report(weft::nvshmem::tell(*rt, *module, k.module_state)).ignore();
}

void weft_nvshmem_detach(weft_nvshmem_module* module) {
  auto& k = weft::nvshmem::kernels();
  const std::lock_guard lock(k.mutex);
  for (weft_nvshmem_module** link = &k.modules; *link != nullptr; link = &(*link)->next) {
    if (*link != module) continue;
    *link = module->next;
    return;
  }
}

// --- collective_launch.h, which is inline for the sake of CUDA's headers
// --------------------------

extern "C" [[gnu::visibility("default")]] int weft_nvshmem_refuse_launch(const char* routine,
                                                                         const char* why) {
  weft::nvshmem::refuse(routine, weft::Code::kInvalidArgument, why);
  return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

extern "C" [[gnu::visibility("default")]] int weft_nvshmem_refuse_blocks(const char* routine,
                                                                         std::size_t blocks,
                                                                         std::size_t most) {
  return weft_nvshmem_refuse_launch(
      routine, fmt::format("argument gridDims has {} blocks, and {} of this kernel fit on the GPU "
                           "at once, as blocks that wait for each other must; launch fewer, or "
                           "ask nvshmemx_collective_launch_query_gridsize",
                           blocks, most)
                   .c_str());
}
