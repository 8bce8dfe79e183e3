/* The one table of NVSHMEM's routines for hosts: return type, name, parameters, and the call of
 * libweft_nvshmem that is its body. Prototypes, definitions and the census are stamped from it.
 * Define one of these, or both, and include; they are undefined at the end.
 *
 *   WEFT_NVSHMEM_HOST(result, name, (parameters), body, (arguments))   hosts only
 *   WEFT_NVSHMEM_BOTH(result, name, (parameters), body, (arguments))   kernels have it, too
 */
#include "../../shmem/when.h"

#ifndef WEFT_NVSHMEM_HOST
#define WEFT_NVSHMEM_HOST(...)
#endif
#ifndef WEFT_NVSHMEM_BOTH
#define WEFT_NVSHMEM_BOTH(...)
#endif

#ifdef WEFT_NVSHMEM_GROUP /* one file of the table only */
#include WEFT_NVSHMEM_GROUP
#undef WEFT_NVSHMEM_GROUP
#else
#include "job.def.h"
#include "memory.def.h"
#include "team.def.h"
#include "rma.def.h"
#include "amo.def.h"
#include "wait.def.h"
#include "collective.def.h"
#endif

#undef WEFT_NVSHMEM_HOST
#undef WEFT_NVSHMEM_BOTH
