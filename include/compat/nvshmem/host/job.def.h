/* Start, end and queries. See routines.def.h. */
WEFT_NVSHMEM_HOST(void, nvshmem_init, (void), init, ())
WEFT_NVSHMEM_HOST(int, nvshmem_init_thread, (int requested, int* provided), init_thread,
                  (requested, provided))
WEFT_NVSHMEM_HOST(void, nvshmem_query_thread, (int* provided), query_thread, (provided))
WEFT_NVSHMEM_HOST(void, nvshmem_finalize, (void), finalize, ())
WEFT_NVSHMEM_BOTH(void, nvshmem_global_exit, (int status), global_exit, (status))
WEFT_NVSHMEM_BOTH(int, nvshmem_my_pe, (void), my_pe, ())
WEFT_NVSHMEM_BOTH(int, nvshmem_n_pes, (void), n_pes, ())
WEFT_NVSHMEM_BOTH(void, nvshmem_info_get_version, (int* major, int* minor), info_get_version,
                  (major, minor))
WEFT_NVSHMEM_BOTH(void, nvshmem_info_get_name, (char* name), info_get_name, (name))
WEFT_NVSHMEM_BOTH(void, nvshmemx_vendor_get_version_info, (int* major, int* minor, int* patch),
                  vendor_get_version_info, (major, minor, patch))

WEFT_NVSHMEM_HOST(int, nvshmemx_init_attr, (unsigned int flags, nvshmemx_init_attr_t* attr),
                  init_attr, (flags, attr))
WEFT_NVSHMEM_HOST(int, nvshmemx_hostlib_init_attr, (unsigned int flags, nvshmemx_init_attr_t* attr),
                  init_attr, (flags, attr))
WEFT_NVSHMEM_HOST(void, nvshmemx_hostlib_finalize, (void), finalize, ())
WEFT_NVSHMEM_HOST(int, nvshmemx_init_status, (void), init_status, ())
WEFT_NVSHMEM_HOST(int, nvshmemid_hostlib_init_attr,
                  (int requested, int* provided, unsigned int bootstrap_flags,
                   nvshmemx_init_attr_t* attr, nvshmemi_version_t device_lib_version,
                   nvshmemx_device_lib_init_cb cb),
                  hostlib_init, (requested, provided, bootstrap_flags, attr, device_lib_version, cb))
WEFT_NVSHMEM_HOST(void, nvshmemid_hostlib_finalize,
                  (void* device_ctx, void* transport_device_ctx), hostlib_finalize,
                  (device_ctx, transport_device_ctx))
WEFT_NVSHMEM_HOST(int, nvshmemid_init_status, (void), init_status, ())
WEFT_NVSHMEM_HOST(int, nvshmemx_get_uniqueid, (nvshmemx_uniqueid_t * uniqueid), get_uniqueid,
                  (uniqueid))
WEFT_NVSHMEM_HOST(int, nvshmemx_set_attr_uniqueid_args,
                  (const int myrank, const int nranks, const nvshmemx_uniqueid_t* uniqueid,
                   nvshmemx_init_attr_t* attr),
                  set_attr_uniqueid_args, (myrank, nranks, uniqueid, attr))
WEFT_NVSHMEM_HOST(int, nvshmemx_set_attr_mpi_comm_args,
                  (void* mpi_comm, nvshmemx_init_attr_t* attr), set_attr_mpi_comm_args,
                  (mpi_comm, attr))

/* Kernels that were compiled at run time, or loaded through the driver. */
WEFT_NVSHMEM_HOST(int, nvshmemx_cumodule_init, (CUmodule module), module_init, (module))
WEFT_NVSHMEM_HOST(int, nvshmemx_cumodule_finalize, (CUmodule module), module_finalize, (module))
WEFT_NVSHMEM_HOST(int, nvshmemx_culibrary_init, (CUlibrary library), library_init, (library))
WEFT_NVSHMEM_HOST(int, nvshmemx_culibrary_finalize, (CUlibrary library), library_finalize,
                  (library))
