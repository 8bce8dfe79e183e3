// Programs count on this when they include NVSHMEM's headers: names, macros and what else comes
// along. Compiled by a host compiler and by nvcc, never run.

// A program's own macros, which must neither break the headers nor be gone behind them.
#define fetch(a) ((a) + 1)
#define put(a, b, c, d, e) ((a) + (b) + (c) + (d) + (e))
#define quiet(a) ((a) + 2)
#define check(a) ((a) + 3)

#include <nvshmem.h>
#include <nvshmemx.h>

static_assert(fetch(1) == 2 && put(1, 1, 1, 1, 1) == 5 && quiet(1) == 3 && check(1) == 4,
              "the program's macros are back");
static_assert(NVSHMEM_VENDOR_MAJOR_VERSION == 3, "");

namespace {

// Each reports and goes where its name says.
[[maybe_unused]] int error_macros(int status, const void* memory) {
  enum nvshmemx_status code = NVSHMEMX_SUCCESS;
  NVSHMEMI_WARN_PRINT("%d", status);
  NVSHMEMI_ERROR_PRINT("%s", "text");
  NVSHMEMI_NULL_ERROR_JMP(memory, status, NVSHMEMX_ERROR_INVALID_VALUE, out, "no memory");
  NVSHMEMI_EQ_ERROR_JMP(status, 7, NVSHMEMX_ERROR_INTERNAL, out, "%d", status);
  NVSHMEMI_NE_ERROR_JMP(status, 0, NVSHMEMX_ERROR_INTERNAL, out, "%d", status);
  NVSHMEMI_NZ_ERROR_JMP(status, NVSHMEMX_ERROR_INTERNAL, out, "%d", status);
  NVSHMEMI_CHECK_ERROR_JMP(status < 0, status, NVSHMEMX_ERROR_INTERNAL, out, "%d", status);
  if (status > 9) NVSHMEMI_ERROR_JMP(status, NVSHMEMX_ERROR_INTERNAL, out, "%d", status);
  NVSHMEMI_NZ_EXIT(status, "%d", status);
  NVSHMEMI_NZ_SYSCHECK_EXIT(status, "%d", status);
  if (code != NVSHMEMX_SUCCESS) NVSHMEMI_ERROR_EXIT("%d", status);
out:
  return status;
}

[[maybe_unused]] void included_along() {
  assert(getpid() > 0);
  static_assert(sizeof(nvshmemx_device_lib_init_cb) == sizeof(void (*)()), "");
}

}  // namespace

#ifdef __CUDACC__
__global__ void groups(double2* pairs) {
  cg::this_thread_block().sync();
  cooperative_groups::this_grid().sync();
  nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, pairs, pairs, 1);
}
NVSHMEMI_HOSTDEVICE_PREFIX int prefixed() { return 0; }
#endif
