/* The profiling interface (OpenSHMEM 1.5, 10): every routine a second time, its name with a p in
 * front. A tool defines shmem_x itself and calls pshmem_x. */
#ifndef WEFT_COMPAT_PSHMEM_H
#define WEFT_COMPAT_PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define WEFT_SHMEM_ROUTINE(R, name, params, body, args) R p##name params;
#include "shmem/families.def.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
