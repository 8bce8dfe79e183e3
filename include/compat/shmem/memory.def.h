/* Symmetric memory: OpenSHMEM 1.5, 9.3. See families.def.h. */
WEFT_SHMEM_ROUTINE(void*, shmem_malloc, (size_t size), malloc, (size))
WEFT_SHMEM_ROUTINE(void*, shmem_malloc_with_hints, (size_t size, long hints), malloc_with_hints,
                   (size, hints))
WEFT_SHMEM_ROUTINE(void*, shmem_calloc, (size_t count, size_t size), calloc, (count, size))
WEFT_SHMEM_ROUTINE(void*, shmem_align, (size_t alignment, size_t size), align, (alignment, size))
WEFT_SHMEM_ROUTINE(void*, shmem_realloc, (void* ptr, size_t size), realloc, (ptr, size))
WEFT_SHMEM_ROUTINE(void, shmem_free, (void* ptr), free, (ptr))

/* Deprecated: 1.5, annex E. */
WEFT_SHMEM_ROUTINE(void*, shmalloc, (size_t size), malloc, (size))
WEFT_SHMEM_ROUTINE(void, shfree, (void* ptr), free, (ptr))
WEFT_SHMEM_ROUTINE(void*, shrealloc, (void* ptr, size_t size), realloc, (ptr, size))
WEFT_SHMEM_ROUTINE(void*, shmemalign, (size_t alignment, size_t size), align, (alignment, size))
