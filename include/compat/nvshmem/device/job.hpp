// The job of a kernel: its PEs and teams, and the version of the library.
#pragma once

#include "../module_state.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

struct Job {
  WEFT_DEVICE static int my_pe() { return module_state().context.pe; }
  WEFT_DEVICE static int n_pes() { return module_state().context.npes; }
  // The kernel ends as one that failed does: every later call of CUDA says so.
  WEFT_DEVICE static void global_exit(int) { stop("a kernel called nvshmem_global_exit()"); }
  WEFT_DEVICE static void info_get_version(int* major, int* minor) {
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
  }
  WEFT_DEVICE static void info_get_name(char* name) {
    const char text[] = NVSHMEM_VENDOR_STRING;
    for (unsigned i = 0; i < sizeof(text); ++i) name[i] = text[i];
  }
  WEFT_DEVICE static void vendor_get_version_info(int* major, int* minor, int* patch) {
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
  }

  // Null for a PE whose memory kernels cannot load and store.
  WEFT_DEVICE static void* ptr(const void* dest, int pe) {
    return context().ptr(static_cast<char*>(const_cast<void*>(dest)), pe);
  }
  // There is no multicast.
  WEFT_DEVICE static void* mc_ptr(nvshmem_team_t, const void*) { return nullptr; }

  // -1: not a member, or no team.
  WEFT_DEVICE static int team_my_pe(nvshmem_team_t team) { return team_of(team).rank; }
  WEFT_DEVICE static int team_n_pes(nvshmem_team_t team) {
    const Team found = team_of(team);
    return found.is_member() ? found.size : -1;
  }
  WEFT_DEVICE static int team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to) {
    return translate(team_of(from), pe, team_of(to));
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
