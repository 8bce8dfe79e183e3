/* The type-generic names for C++: overloads, where C11 has generic selections. */
#ifndef WEFT_COMPAT_SHMEM_OVERLOADS_H
#define WEFT_COMPAT_SHMEM_OVERLOADS_H

#define WEFT_TYPE_DISTINCT_ONLY
#define WEFT_SHMEM_ROUTINE(R, name, params, body, args)
#define WEFT_SHMEM_SIZED(R, tail, params, body, args)
#define WEFT_SHMEM_PLAIN(R, N, F, params, body, args) \
  inline R shmem_##F params { return shmem_##N##_##F args; }
#define WEFT_SHMEM_CTX(R, N, F, params, body, args)          \
  inline R shmem_##F params { return shmem_##N##_##F args; } \
  inline R shmem_##F(shmem_ctx_t ctx, WEFT_UNPAREN params) { \
    return shmem_ctx_##N##_##F(ctx, WEFT_UNPAREN args);      \
  }
#include "families.def.h"
#undef WEFT_TYPE_DISTINCT_ONLY

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}

#endif
