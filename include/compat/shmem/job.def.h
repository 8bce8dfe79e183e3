/* Start, end and queries: OpenSHMEM 1.5, 9.1; query_initialized: 1.6. See families.def.h. */
WEFT_SHMEM_ROUTINE(void, shmem_init, (void), init, ())
WEFT_SHMEM_ROUTINE(int, shmem_init_thread, (int requested, int* provided), init_thread,
                   (requested, provided))
WEFT_SHMEM_ROUTINE(void, shmem_query_thread, (int* provided), query_thread, (provided))
WEFT_SHMEM_ROUTINE(void, shmem_query_initialized, (int* initialized), query_initialized,
                   (initialized))
WEFT_SHMEM_ROUTINE(void, shmem_finalize, (void), finalize, ())
WEFT_SHMEM_ROUTINE(void, shmem_global_exit, (int status), global_exit, (status))
WEFT_SHMEM_ROUTINE(int, shmem_my_pe, (void), my_pe, ())
WEFT_SHMEM_ROUTINE(int, shmem_n_pes, (void), n_pes, ())
WEFT_SHMEM_ROUTINE(int, shmem_pe_accessible, (int pe), pe_accessible, (pe))
WEFT_SHMEM_ROUTINE(int, shmem_addr_accessible, (const void* addr, int pe), addr_accessible,
                   (addr, pe))
WEFT_SHMEM_ROUTINE(void*, shmem_ptr, (const void* dest, int pe), ptr, (dest, pe))
WEFT_SHMEM_ROUTINE(void, shmem_info_get_version, (int* major, int* minor), info_get_version,
                   (major, minor))
WEFT_SHMEM_ROUTINE(void, shmem_info_get_name, (char* name), info_get_name, (name))
WEFT_SHMEM_ROUTINE(void, shmem_pcontrol, (int level, ...), pcontrol, (level))

/* Deprecated: 1.5, annex E. */
WEFT_SHMEM_ROUTINE(void, start_pes, (int npes), start_pes, (npes))
WEFT_SHMEM_ROUTINE(int, _my_pe, (void), my_pe, ())
WEFT_SHMEM_ROUTINE(int, _num_pes, (void), n_pes, ())
WEFT_SHMEM_ROUTINE(void, shmem_set_cache_inv, (void), cache, ())
WEFT_SHMEM_ROUTINE(void, shmem_set_cache_line_inv, (void* dest), cache_line, (dest))
WEFT_SHMEM_ROUTINE(void, shmem_clear_cache_inv, (void), cache, ())
WEFT_SHMEM_ROUTINE(void, shmem_clear_cache_line_inv, (void* dest), cache_line, (dest))
WEFT_SHMEM_ROUTINE(void, shmem_udcflush, (void), cache, ())
WEFT_SHMEM_ROUTINE(void, shmem_udcflush_line, (void* dest), cache_line, (dest))
