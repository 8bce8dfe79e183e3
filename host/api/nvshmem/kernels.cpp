// The runtime as kernels find it: each module of the program holds a Picture of it, which is given
// here.
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <weft/compat/nvshmem/state.hpp>

#include "host/api/nvshmem/driver.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

constexpr int kInvalidSymbol = 13;  // cudaErrorInvalidSymbol: CUDA does not know the module yet

// No destructor: modules detach at the very end.
struct Kernels {
  std::mutex mutex;  // guards the list, and who is told what
  weft_nvshmem_module* modules = nullptr;
  Picture picture;
  Team* table = nullptr;  // symmetric memory
};
Kernels& kernels() {
  static Kernels* const kernels = new Kernels;
  return *kernels;
}
// Some module did not know its symbol yet.
std::atomic<bool> somebody_waits{false};

// Where there is no GPU there is nothing that a module could do wrong.
Status tell(const Runtime& rt, const weft_nvshmem_module& module, const Picture& picture) {
  const int error = module.set(&picture, sizeof(picture));
  if (error == kInvalidSymbol) somebody_waits.store(true, std::memory_order_relaxed);
  if (error == 0 || error == kInvalidSymbol || rt.gpu() < 0) return Status::ok();
  return Status::error(
      Code::kVersionMismatch,
      fmt::format("{}: the kernels of this program cannot be told where the runtime is (CUDA's "
                  "error {}). Build the program with the headers of the Weft that it runs with, "
                  "for the GPU that it runs on",
                  detail::caller_name == nullptr ? "nvshmem_init" : detail::caller_name, error));
}

Status tell_all(const Runtime& rt, const Picture& picture) {
  Kernels& k = kernels();
  somebody_waits.store(false, std::memory_order_relaxed);
  Status first;
  for (const weft_nvshmem_module* m = k.modules; m != nullptr; m = m->next) {
    Status told = tell(rt, *m, picture);
    if (first) first = std::move(told);
  }
  return first;
}

// To the symbol of a module that the driver has loaded.
Status give(const Driver& driver, const Status& found, Driver::Pointer symbol, std::size_t bytes,
            const Picture& picture) {
  if (!found)
    return Status::error(found.code(),
                         fmt::format("the module has no {}, which nvshmem.h puts into each that "
                                     "uses it: {}",
                                     kPictureSymbol, found.text()));
  if (bytes == sizeof(picture)) return driver.copy_in(symbol, &picture, bytes);
  return Status::error(Code::kVersionMismatch,
                       fmt::format("the module's {} has {} bytes, not {}: build it with the "
                                   "headers of the Weft that it runs with",
                                   kPictureSymbol, bytes, sizeof(picture)));
}

template <class Find>
int give(const char* routine, Find find, const Picture& picture) {
  const Call call(routine);
  if (!call) return NVSHMEMX_ERROR_INTERNAL;
  auto driver = Driver::open(call.runtime_of().options().cuda_library);
  if (!driver) return refuse(routine, driver.status().code(), driver.status().text());
  Driver::Pointer symbol = 0;
  std::size_t bytes = 0;
  const Status found = find(*driver, &symbol, &bytes);
  const Status given = give(*driver, found, symbol, bytes, picture);
  return given ? NVSHMEMX_SUCCESS : refuse(routine, given.code(), given.text());
}

int give_module(const char* routine, CUmodule module, const Picture& picture) {
  return give(
      routine,
      [module](const Driver& driver, Driver::Pointer* at, std::size_t* bytes) {
        return driver.module_symbol(module, kPictureSymbol, at, bytes);
      },
      picture);
}

int give_library(const char* routine, CUlibrary library, const Picture& picture) {
  return give(
      routine,
      [library](const Driver& driver, Driver::Pointer* at, std::size_t* bytes) {
        return driver.library_symbol(library, kPictureSymbol, at, bytes);
      },
      picture);
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
  k.picture = {kPictureMagic, *context, rt.world(), *table, static_cast<std::int32_t>(count)};
  return Status::ok();
}

Status show_team(Runtime& rt, nvshmem_team_t number, const Team& team) {
  return rt.context().put(kernels().table + number, &team, 1, rt.pe());
}

Status tell_modules(Runtime& rt) {
  Kernels& k = kernels();
  const std::lock_guard lock(k.mutex);
  return tell_all(rt, k.picture);
}

void tell_modules_that_wait(Runtime& rt) {
  if (!somebody_waits.load(std::memory_order_relaxed)) [[likely]]
    return;
  report(tell_modules(rt)).ignore();
}

void stop_kernels(Runtime& rt) {
  Kernels& k = kernels();
  const std::lock_guard lock(k.mutex);
  k.picture = Picture{};
  k.table = nullptr;
  report(tell_all(rt, k.picture)).ignore();
}

int module_init(const char* routine, CUmodule module) {
  return give_module(routine, module, kernels().picture);
}
int module_finalize(const char* routine, CUmodule module) {
  return give_module(routine, module, Picture{});
}
int library_init(const char* routine, CUlibrary library) {
  return give_library(routine, library, kernels().picture);
}
int library_finalize(const char* routine, CUlibrary library) {
  return give_library(routine, library, Picture{});
}

}  // namespace weft::nvshmem

void weft_nvshmem_attach(weft_nvshmem_module* module) {
  auto& k = weft::nvshmem::kernels();
  const std::lock_guard lock(k.mutex);
  module->next = k.modules;
  k.modules = module;
  if (weft::Runtime* const rt = weft::nvshmem::runtime_if_any())
    weft::report(weft::nvshmem::tell(*rt, *module, k.picture)).ignore();
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
