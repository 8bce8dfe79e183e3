/* Every name of shmem.h. Define WEFT_SHMEM_NAME(name) and include. */
#define WEFT_SHMEM_ROUTINE(R, name, params, body, args) WEFT_SHMEM_NAME(name)
#include "families.def.h"
#undef WEFT_SHMEM_NAME
