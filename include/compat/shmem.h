/* OpenSHMEM 1.5 in C and C++, with what 1.6 adds, on Weft. C99, C11 and later (type-generic names),
 * C++11 and later (overloads). Semantics: the standard's, www.openshmem.org;
 * docs/guide/openshmem.md says what Weft decides where the standard leaves it open.
 *
 * Every routine shmem_x exists as pshmem_x, too (pshmem.h), so that tools can stand between. */
#ifndef WEFT_COMPAT_SHMEM_H
#define WEFT_COMPAT_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem/constants.h"
#include "shmem/when.h"

#ifdef __cplusplus
#include <complex>
extern "C" {
#endif
#pragma GCC visibility push(default)

#define WEFT_SHMEM_ROUTINE(R, name, params, body, args) R name params;
#include "shmem/families.def.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if defined(WEFT_SHMEM_C_NAMES) /* inside the library: nothing but the names that it exports */
#elif defined(__cplusplus)
#include "shmem/overloads.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem/generic.h"
#endif

#endif
