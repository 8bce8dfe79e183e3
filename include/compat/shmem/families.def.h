/* The one table of routines: return type, name, parameters, and the call of libweft_shmem that is
 * its body. Prototypes, definitions, pshmem_ names, C++ overloads and the census are stamped from
 * it. Define WEFT_SHMEM_ROUTINE and include; it is undefined at the end.
 *
 *   WEFT_SHMEM_ROUTINE(result, name, (parameters), body, (arguments))
 *
 * Rows of families may be taken before they become routines, by defining
 *
 *   WEFT_SHMEM_PLAIN(result, typename, family, (parameters), body, (arguments))
 *   WEFT_SHMEM_CTX    the same; also exists with a context: shmem_ctx_<typename>_<family>
 *   WEFT_SHMEM_SIZED(result, tail, (parameters), body, (arguments))   shmem_<tail>,
 * shmem_ctx_<tail>
 */
#include "when.h"

#ifndef WEFT_SHMEM_PLAIN
#define WEFT_SHMEM_PLAIN(R, N, F, params, body, args) \
  WEFT_SHMEM_ROUTINE(R, shmem_##N##_##F, params, body, args)
#endif
#ifndef WEFT_SHMEM_SIZED
#define WEFT_SHMEM_SIZED(R, tail, params, body, args)                                       \
  WEFT_SHMEM_ROUTINE(R, shmem_##tail, params, body, (SHMEM_CTX_DEFAULT, WEFT_UNPAREN args)) \
  WEFT_SHMEM_ROUTINE(R, shmem_ctx_##tail, (shmem_ctx_t ctx, WEFT_UNPAREN params), body,     \
                     (ctx, WEFT_UNPAREN args))
#endif
#ifndef WEFT_SHMEM_CTX
#define WEFT_SHMEM_CTX(R, N, F, params, body, args) WEFT_SHMEM_SIZED(R, N##_##F, params, body, args)
#endif

#ifdef WEFT_SHMEM_GROUP /* one file of the table only */
#include WEFT_SHMEM_GROUP
#undef WEFT_SHMEM_GROUP
#else
#include "job.def.h"
#include "memory.def.h"
#include "context.def.h"
#include "team.def.h"
#include "rma.def.h"
#include "amo.def.h"
#include "wait.def.h"
#include "collective.def.h"
#include "active_set.def.h"
#include "lock.def.h"
#endif

#undef WEFT_SHMEM_ROUTINE
#undef WEFT_SHMEM_PLAIN
#undef WEFT_SHMEM_CTX
#undef WEFT_SHMEM_SIZED
