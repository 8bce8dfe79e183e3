// Teams of hosts, and what kernels of this program are told of them.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <nvshmem/state.hpp>

#include "tests/compat/nvshmem/host_check.hpp"
#include "tests/support/fake_gpu/control.hpp"

namespace {

using weft::nvshmem::ModuleState;

int me() { return nvshmem_my_pe(); }
int npes() { return nvshmem_n_pes(); }

// --- modules: what units that nvcc has compiled are to the library -------------------------------

ModuleState seen;      // what the module was told last
int told = 0;          // how often
int refusals_to_come;  // CUDA does not know the module so often

int set(const void* module_state, std::size_t bytes) {
  if (refusals_to_come > 0) {
    --refusals_to_come;
    return 13;  // cudaErrorInvalidSymbol
  }
  ++told;
  CHECK(bytes == sizeof(ModuleState));
  std::memcpy(&seen, module_state, sizeof(seen));
  return 0;
}
weft_nvshmem_module module_of_program = {set, nullptr};

// The team that a kernel would load.
weft::Team shown(nvshmem_team_t team) {
  weft::Team value;
  nvshmem_getmem(&value, seen.teams + team, sizeof(value), me());
  return value;
}

// --- teams ---------------------------------------------------------------------------------------

void check_predefined() {
  CHECK(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD) == me());
  CHECK(nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == npes());
  for (const nvshmem_team_t team : {+NVSHMEM_TEAM_SHARED, +NVSHMEMX_TEAM_NODE}) {
    CHECK(nvshmem_team_n_pes(team) == npes());  // of one host
    CHECK(nvshmem_team_translate_pe(team, 0, NVSHMEM_TEAM_WORLD) == 0);
  }
  CHECK(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE) == 1);
  CHECK(nvshmem_team_translate_pe(NVSHMEMX_TEAM_SAME_MYPE_NODE, 0, NVSHMEM_TEAM_WORLD) == me());
  CHECK(nvshmem_team_sync(NVSHMEMX_TEAM_SAME_MYPE_NODE) == 0);
  CHECK(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID) == -1);
  CHECK(nvshmem_team_n_pes(NVSHMEM_TEAM_INVALID) == -1);
  CHECK(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, npes(), NVSHMEM_TEAM_WORLD) == -1);
  for (const nvshmem_team_t team : {+NVSHMEM_TEAM_WORLD, +NVSHMEM_TEAM_SHARED, +NVSHMEMX_TEAM_NODE})
    CHECK(shown(team).size == npes() && shown(team).rank == me());
  CHECK(shown(NVSHMEMX_TEAM_SAME_MYPE_NODE).size == 1);
  CHECK(shown(NVSHMEM_TEAMS_MIN).rank == -1);
}

void check_strided() {
  nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
  config.num_contexts = 3;
  const int size = (npes() + 1) / 2;  // the even ones
  nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
  CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, size, &config,
                                   NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, &team) == 0);
  CHECK((team == NVSHMEM_TEAM_INVALID) == (me() % 2 == 1));
  if (team != NVSHMEM_TEAM_INVALID) {
    CHECK(nvshmem_team_my_pe(team) == me() / 2);
    CHECK(nvshmem_team_n_pes(team) == size);
    CHECK(nvshmem_team_translate_pe(team, size - 1, NVSHMEM_TEAM_WORLD) == 2 * (size - 1));
    CHECK(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, 1, team) == -1);
    nvshmem_team_config_t got = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_get_config(team, &got);
    CHECK(got.num_contexts == 3);
    CHECK(shown(team).size == size && shown(team).pe_of(size - 1) == 2 * (size - 1));
    CHECK(nvshmem_team_sync(team) == 0);
    CHECK(nvshmem_barrier(team) == 0);
    nvshmem_team_destroy(team);
    CHECK(shown(team).rank == -1);
    CHECK(nvshmem_team_my_pe(team) == -1);  // and a report
  }
  nvshmem_barrier_all();
}

void check_grid() {
  nvshmem_team_t x = NVSHMEM_TEAM_INVALID, y = NVSHMEM_TEAM_INVALID;
  CHECK(nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y) == 0);
  CHECK(nvshmem_team_n_pes(x) == std::min(2, npes() - me() / 2 * 2));
  CHECK(nvshmem_team_my_pe(x) == me() % 2);
  CHECK(nvshmem_team_my_pe(y) == me() / 2);
  CHECK(nvshmem_team_translate_pe(y, 0, NVSHMEM_TEAM_WORLD) == me() % 2);
  nvshmem_team_destroy(x);
  nvshmem_team_destroy(y);
}

void check_wrong() {
  nvshmem_team_t team = 5;
  CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, npes() + 1, nullptr, 0, &team) != 0);
  CHECK(team == NVSHMEM_TEAM_INVALID);
  CHECK(nvshmem_team_split_strided(77, 0, 1, 1, nullptr, 0, &team) != 0);
  CHECK(nvshmem_team_sync(NVSHMEM_TEAM_INVALID) != 0);
  nvshmem_team_destroy(NVSHMEM_TEAM_WORLD);
  CHECK(nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == npes());
}

// --- what modules are told -----------------------------------------------------------------------

void check_modules() {
  CHECK(told == 1 && seen.magic == weft::nvshmem::kModuleStateMagic);
  CHECK(seen.context.pe == me() && seen.context.npes == npes());
  CHECK(seen.world.size == npes() && seen.team_count > NVSHMEM_TEAMS_MIN);

  // A library that is loaded now, before CUDA knows it: told at some later call.
  weft_nvshmem_module library = {set, nullptr};
  seen = ModuleState{};
  refusals_to_come = 1;
  weft_nvshmem_attach(&library);
  CHECK(told == 1);
  nvshmem_quiet();
  CHECK(seen.magic == weft::nvshmem::kModuleStateMagic);
  weft_nvshmem_detach(&library);
}

// Modules that the driver has loaded: the fake one, since these are none of a real one's.
void check_driver_modules() {
  if (std::getenv("WEFT_CUDA_LIBRARY") == nullptr) return;
  ModuleState module_state;
  char small[8] = "";
  weft::test::FakeGpuModule module{"weft_nvshmem_module_state", &module_state,
                                   sizeof(module_state)};
  weft::test::FakeGpuModule other{"something_else", &module_state, sizeof(module_state)};
  weft::test::FakeGpuModule old{"weft_nvshmem_module_state", small, sizeof(small)};
  const auto as_module = [](auto& m) { return reinterpret_cast<CUmodule>(&m); };
  const auto as_library = [](auto& m) { return reinterpret_cast<CUlibrary>(&m); };
  CHECK(nvshmemx_cumodule_init(as_module(other)) != 0);
  CHECK(nvshmemx_cumodule_init(as_module(old)) != 0);
  CHECK(nvshmemx_cumodule_init(as_module(module)) == 0);
  CHECK(std::memcmp(&module_state, &seen, sizeof(seen)) == 0);
  CHECK(nvshmemx_cumodule_finalize(as_module(module)) == 0);
  CHECK(module_state.magic == 0);
  CHECK(nvshmemx_culibrary_init(as_library(module)) == 0);
  CHECK(module_state.magic == weft::nvshmem::kModuleStateMagic);
  CHECK(nvshmemx_culibrary_finalize(as_library(module)) == 0);
  CHECK(module_state.magic == 0);
}

void check_memory() {
  CHECK(nvshmem_malloc(0) == nullptr);
  CHECK(nvshmem_calloc(0, 8) == nullptr);
  CHECK(nvshmem_align(48, 8) == nullptr);
  auto* const aligned = static_cast<std::uint8_t*>(nvshmem_align(4096, 100));
  CHECK(aligned != nullptr && reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  CHECK(nvshmem_ptr(aligned, me()) == aligned);
  CHECK(nvshmem_ptr(aligned, right()) != nullptr);
  CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, aligned) == nullptr);
  nvshmem_free(aligned);
  auto* const zeros = static_cast<std::uint8_t*>(nvshmem_calloc(3, (std::size_t{1} << 20) + 5));
  const auto got = read(zeros, 3 * ((std::size_t{1} << 20) + 5));
  CHECK(std::all_of(got.begin(), got.end(), [](std::uint8_t byte) { return byte == 0; }));

  char mine[64];
  CHECK(nvshmemx_buffer_register(mine, sizeof(mine)) == 0);
  CHECK(nvshmemx_buffer_register(nullptr, 8) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_buffer_register(zeros, 8) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_buffer_unregister(mine + 1) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_buffer_unregister(mine) == 0);
  CHECK(nvshmemx_buffer_unregister(mine) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_buffer_register(mine, sizeof(mine)) == 0);
  nvshmemx_buffer_unregister_all();
  CHECK(nvshmemx_buffer_unregister(mine) == NVSHMEMX_ERROR_INVALID_VALUE);
  nvshmem_free(zeros);
}

// Memory of the program's own, of the host, which is there with GPUs and without.
void check_symmetric_registration() {
  constexpr std::size_t kBytes = 1 << 16;
  void* const mine =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const words = static_cast<int*>(mine);
  words[0] = 100 + me();
  CHECK(nvshmemx_buffer_register_symmetric(mine, kBytes, 1) == nullptr);  // there are no flags
  CHECK(nvshmemx_buffer_register_symmetric(words + 1, kBytes, 0) == nullptr);
  CHECK(nvshmemx_buffer_unregister_symmetric(mine, kBytes) == NVSHMEMX_ERROR_SYMMETRY);
  CHECK(nvshmemx_buffer_register_symmetric(mine, kBytes, 0) == mine);
  CHECK(nvshmemx_buffer_register_symmetric(mine, kBytes, 0) == mine);
  CHECK(words[0] == 100 + me());
  CHECK(nvshmem_int_g(words, right()) == 100 + right());
  nvshmem_int_p(words + 5, me(), right());
  nvshmem_barrier_all();
  CHECK(words[5] == left());
  CHECK(nvshmemx_buffer_unregister_symmetric(mine, kBytes) == 0);
  CHECK(nvshmem_int_g(words, right()) == 100 + right());
  CHECK(nvshmemx_buffer_unregister_symmetric(mine, kBytes) == 0);
}

// A team takes no context, of which there are 64: WEFT_MAX_TEAMS alone says how many there can be.
void check_many() {
  std::vector<nvshmem_team_t> teams;
  nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
  while (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, npes(), nullptr, 0, &team) == 0)
    teams.push_back(team);
  CHECK(team == NVSHMEM_TEAM_INVALID);
  const char* const most = std::getenv("WEFT_MAX_TEAMS");
  CHECK(static_cast<int>(teams.size()) == (most == nullptr ? 32 : std::atoi(most)) - 4);
  for (const nvshmem_team_t each : teams) {
    CHECK(nvshmem_team_sync(each) == 0);
    nvshmem_team_destroy(each);
  }
}

}  // namespace

int main(int argc, char**) {
  weft_nvshmem_attach(&module_of_program);
  int provided = -1;
  if (argc > 1)  // any argument: by threads
    CHECK(nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided) == 0);
  else
    nvshmem_init();
  check_modules();
  check_predefined();
  check_strided();
  check_grid();
  check_wrong();
  check_many();
  check_driver_modules();
  check_memory();
  check_symmetric_registration();
  nvshmem_finalize();
  CHECK(seen.magic == 0);
  weft_nvshmem_detach(&module_of_program);
  return exit_status();
}
