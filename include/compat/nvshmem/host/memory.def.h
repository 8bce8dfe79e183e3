/* Symmetric memory, and private memory that a program registers. See routines.def.h. */
WEFT_NVSHMEM_HOST(void*, nvshmem_malloc, (size_t size), malloc, (size))
WEFT_NVSHMEM_HOST(void*, nvshmem_calloc, (size_t count, size_t size), calloc, (count, size))
WEFT_NVSHMEM_HOST(void*, nvshmem_align, (size_t alignment, size_t size), align, (alignment, size))
WEFT_NVSHMEM_HOST(void, nvshmem_free, (void* ptr), free, (ptr))
WEFT_NVSHMEM_BOTH(void*, nvshmem_ptr, (const void* dest, int pe), ptr, (dest, pe))
WEFT_NVSHMEM_BOTH(void*, nvshmemx_mc_ptr, (nvshmem_team_t team, const void* ptr), mc_ptr,
                  (team, ptr))

WEFT_NVSHMEM_HOST(int, nvshmemx_buffer_register, (void* addr, size_t length), buffer_register,
                  (addr, length))
WEFT_NVSHMEM_HOST(int, nvshmemx_buffer_unregister, (void* addr), buffer_unregister, (addr))
WEFT_NVSHMEM_HOST(void, nvshmemx_buffer_unregister_all, (void), buffer_unregister_all, ())

WEFT_NVSHMEM_HOST(void*, nvshmemx_buffer_register_symmetric,
                  (void* buf_ptr, size_t size, int flags), buffer_register_symmetric,
                  (buf_ptr, size, flags))
WEFT_NVSHMEM_HOST(int, nvshmemx_buffer_unregister_symmetric, (void* mmap_ptr, size_t size),
                  buffer_unregister_symmetric, (mmap_ptr, size))
