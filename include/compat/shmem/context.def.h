/* Contexts: OpenSHMEM 1.5, 9.5; sessions: 1.6. See families.def.h. */
WEFT_SHMEM_ROUTINE(int, shmem_ctx_create, (long options, shmem_ctx_t* ctx), ctx_create,
                   (SHMEM_TEAM_WORLD, options, ctx))
WEFT_SHMEM_ROUTINE(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx),
                   ctx_create, (team, options, ctx))
WEFT_SHMEM_ROUTINE(void, shmem_ctx_destroy, (shmem_ctx_t ctx), ctx_destroy, (ctx))
WEFT_SHMEM_ROUTINE(int, shmem_ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team), ctx_get_team,
                   (ctx, team))
WEFT_SHMEM_ROUTINE(void, shmem_ctx_session_start,
                   (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config,
                    long config_mask),
                   ctx_session_start, (ctx, options, config, config_mask))
WEFT_SHMEM_ROUTINE(void, shmem_ctx_session_stop, (shmem_ctx_t ctx), ctx_session_stop, (ctx))
