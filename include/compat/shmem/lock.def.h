/* Locks: OpenSHMEM 1.5, 9.12. See families.def.h. */
WEFT_SHMEM_ROUTINE(void, shmem_set_lock, (long* lock), set_lock, (lock))
WEFT_SHMEM_ROUTINE(void, shmem_clear_lock, (long* lock), clear_lock, (lock))
WEFT_SHMEM_ROUTINE(int, shmem_test_lock, (long* lock), test_lock, (lock))
