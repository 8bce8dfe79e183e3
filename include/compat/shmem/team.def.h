/* Teams: OpenSHMEM 1.5, 9.4; barrier and sync: 9.9. See families.def.h. */
WEFT_SHMEM_ROUTINE(int, shmem_team_my_pe, (shmem_team_t team), team_my_pe, (team))
WEFT_SHMEM_ROUTINE(int, shmem_team_n_pes, (shmem_team_t team), team_n_pes, (team))
WEFT_SHMEM_ROUTINE(int, shmem_team_get_config,
                   (shmem_team_t team, long config_mask, shmem_team_config_t* config),
                   team_get_config, (team, config_mask, config))
WEFT_SHMEM_ROUTINE(int, shmem_team_translate_pe,
                   (shmem_team_t src_team, int src_pe, shmem_team_t dest_team), team_translate_pe,
                   (src_team, src_pe, dest_team))
WEFT_SHMEM_ROUTINE(int, shmem_team_split_strided,
                   (shmem_team_t parent_team, int start, int stride, int size,
                    const shmem_team_config_t* config, long config_mask, shmem_team_t* new_team),
                   team_split_strided,
                   (parent_team, start, stride, size, config, config_mask, new_team))
WEFT_SHMEM_ROUTINE(int, shmem_team_split_2d,
                   (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config,
                    long xaxis_mask, shmem_team_t* xaxis_team,
                    const shmem_team_config_t* yaxis_config, long yaxis_mask,
                    shmem_team_t* yaxis_team),
                   team_split_2d,
                   (parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config,
                    yaxis_mask, yaxis_team))
WEFT_SHMEM_ROUTINE(void, shmem_team_destroy, (shmem_team_t team), team_destroy, (team))
WEFT_SHMEM_ROUTINE(void*, shmem_team_ptr, (shmem_team_t team, const void* dest, int pe), team_ptr,
                   (team, dest, pe))
WEFT_SHMEM_ROUTINE(int, shmem_team_sync, (shmem_team_t team), team_sync, (team))
WEFT_SHMEM_ROUTINE(void, shmem_sync_all, (void), sync_all, ())
WEFT_SHMEM_ROUTINE(void, shmem_barrier_all, (void), barrier_all, ())
