/* Teams, and where their members meet. See routines.def.h. */
WEFT_NVSHMEM_BOTH(int, nvshmem_team_my_pe, (nvshmem_team_t team), team_my_pe, (team))
WEFT_NVSHMEM_BOTH(int, nvshmem_team_n_pes, (nvshmem_team_t team), team_n_pes, (team))
WEFT_NVSHMEM_HOST(void, nvshmem_team_get_config,
                  (nvshmem_team_t team, nvshmem_team_config_t* config), team_get_config,
                  (team, config))
WEFT_NVSHMEM_BOTH(int, nvshmem_team_translate_pe,
                  (nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team),
                  team_translate_pe, (src_team, src_pe, dest_team))
WEFT_NVSHMEM_HOST(int, nvshmem_team_split_strided,
                  (nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size,
                   const nvshmem_team_config_t* config, long config_mask, nvshmem_team_t* new_team),
                  team_split_strided,
                  (parent_team, PE_start, PE_stride, PE_size, config, config_mask, new_team))
WEFT_NVSHMEM_HOST(int, nvshmem_team_split_2d,
                  (nvshmem_team_t parent_team, int xrange,
                   const nvshmem_team_config_t* xaxis_config, long xaxis_mask,
                   nvshmem_team_t* xaxis_team, const nvshmem_team_config_t* yaxis_config,
                   long yaxis_mask, nvshmem_team_t* yaxis_team),
                  team_split_2d,
                  (parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config,
                   yaxis_mask, yaxis_team))
WEFT_NVSHMEM_HOST(void, nvshmem_team_destroy, (nvshmem_team_t team), team_destroy, (team))

WEFT_NVSHMEM_SCOPED(int, team_sync, (nvshmem_team_t team), team_sync, (team))
WEFT_NVSHMEM_SCOPED(void, sync_all, (void), sync_all, ())
WEFT_NVSHMEM_SCOPED(int, barrier, (nvshmem_team_t team), barrier, (team))
WEFT_NVSHMEM_SCOPED(void, barrier_all, (void), barrier_all, ())
