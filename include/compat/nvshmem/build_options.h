/* NVSHMEM's non_abi/nvshmem_build_options.h: what programs ask with #ifdef. Weft finds MPI,
 * OpenSHMEM, PMIx, verbs and libfabric when a program runs. */
#ifndef WEFT_COMPAT_NVSHMEM_BUILD_OPTIONS_H
#define WEFT_COMPAT_NVSHMEM_BUILD_OPTIONS_H

#define NVSHMEM_MPI_SUPPORT
#define NVSHMEM_SHMEM_SUPPORT
#define NVSHMEM_PMIX_SUPPORT
#define NVSHMEM_IBRC_SUPPORT
#define NVSHMEM_LIBFABRIC_SUPPORT

#endif
