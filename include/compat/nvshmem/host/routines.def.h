/* The one table of NVSHMEM's routines: return type, name, parameters, and the call that is its
 * body, of that name in libweft_nvshmem and in what kernels call. Prototypes, definitions, kernels'
 * names and the census are stamped from it. Define what is wanted and include; all are undefined at
 * the end. The routines that only kernels have are in ../device/kernel.def.h.
 *
 *   WEFT_NVSHMEM_HOST(result, name, (parameters), body, (arguments))     hosts only
 *   WEFT_NVSHMEM_BOTH(result, name, (parameters), body, (arguments))     kernels have it, too
 *   WEFT_NVSHMEM_SCOPED(result, stem, (parameters), body, (arguments))   both have nvshmem_<stem>,
 *       kernels nvshmemx_<stem>_warp and nvshmemx_<stem>_block, too
 */
#include "../../shmem/when.h"

#ifndef WEFT_NVSHMEM_HOST
#define WEFT_NVSHMEM_HOST(...)
#endif
#ifndef WEFT_NVSHMEM_BOTH
#define WEFT_NVSHMEM_BOTH(...)
#endif

#ifndef WEFT_NVSHMEM_SCOPED
#define WEFT_NVSHMEM_SCOPED(R, stem, params, body, args) \
  WEFT_NVSHMEM_BOTH(R, nvshmem_##stem, params, body, args)
#endif

#ifdef WEFT_NVSHMEM_GROUP /* one file of the table only */
#include WEFT_NVSHMEM_GROUP
#undef WEFT_NVSHMEM_GROUP
#else
#include "untyped.def.h"
#include "typed.def.h"
#include "stream.def.h"
#endif

#undef WEFT_NVSHMEM_HOST
#undef WEFT_NVSHMEM_BOTH
#undef WEFT_NVSHMEM_SCOPED
