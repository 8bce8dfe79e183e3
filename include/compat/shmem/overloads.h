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

/* C's complex numbers, which g++ and clang++ know besides std::complex: the same in memory. */
__extension__ typedef float _Complex weft_shmem_complexf;
__extension__ typedef double _Complex weft_shmem_complexd;
#define WEFT_SHMEM_TEAM_FORM(name, N, T, C)                                                \
  inline int name(shmem_team_t team, C* dest, const C* source, size_t nelems) {            \
    return shmem_##N(team, reinterpret_cast<T*>(dest), reinterpret_cast<const T*>(source), \
                     nelems);                                                              \
  }
#define WEFT_SHMEM_TEAM_FORMS(N, F, T, C)              \
  WEFT_SHMEM_TEAM_FORM(shmem_##N##_##F, N##_##F, T, C) \
  WEFT_SHMEM_TEAM_FORM(shmem_##F, N##_##F, T, C)
#define WEFT_SHMEM_SET_FORM(N, T, C)                                                             \
  inline void shmem_##N(C* dest, const C* source, int nreduce, int PE_start, int logPE_stride,   \
                        int PE_size, C* pWrk, long* pSync) {                                     \
    shmem_##N(reinterpret_cast<T*>(dest), reinterpret_cast<const T*>(source), nreduce, PE_start, \
              logPE_stride, PE_size, reinterpret_cast<T*>(pWrk), pSync);                         \
  }
#define WEFT_SHMEM_C_COMPLEX(N, T, C)         \
  WEFT_SHMEM_TEAM_FORMS(N, sum_reduce, T, C)  \
  WEFT_SHMEM_TEAM_FORMS(N, prod_reduce, T, C) \
  WEFT_SHMEM_TEAM_FORMS(N, sum_inscan, T, C)  \
  WEFT_SHMEM_TEAM_FORMS(N, sum_exscan, T, C)  \
  WEFT_SHMEM_SET_FORM(N##_sum_to_all, T, C)   \
  WEFT_SHMEM_SET_FORM(N##_prod_to_all, T, C)
WEFT_SHMEM_C_COMPLEX(complexf, std::complex<float>, weft_shmem_complexf)
WEFT_SHMEM_C_COMPLEX(complexd, std::complex<double>, weft_shmem_complexd)
#undef WEFT_SHMEM_TEAM_FORM
#undef WEFT_SHMEM_TEAM_FORMS
#undef WEFT_SHMEM_SET_FORM
#undef WEFT_SHMEM_C_COMPLEX

#endif
