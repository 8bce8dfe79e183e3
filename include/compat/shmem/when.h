/* Helpers of the tables: a family that a type does not have expands to nothing. */
#ifndef WEFT_COMPAT_SHMEM_WHEN_H
#define WEFT_COMPAT_SHMEM_WHEN_H

#define WEFT_WHEN_0(...)
#define WEFT_WHEN_1(...) __VA_ARGS__
/* The column `old` of types.def.h: any deprecated name, and those of integers. */
#define WEFT_OLD_0(...)
#define WEFT_OLD_1(...) __VA_ARGS__
#define WEFT_OLD_2(...) __VA_ARGS__
#define WEFT_OLD_INT_0(...)
#define WEFT_OLD_INT_1(...)
#define WEFT_OLD_INT_2(...) __VA_ARGS__

/* M for each operator of a type that can be added, be ordered, or is one of bits. */
#define WEFT_EACH_ARITH(M, N, T) M(N, T, sum, Sum) M(N, T, prod, Prod)
#define WEFT_EACH_ORDER(M, N, T) M(N, T, min, Min) M(N, T, max, Max)
#define WEFT_EACH_BITWISE(M, N, T) M(N, T, and, And) M(N, T, or, Or) M(N, T, xor, Xor)

/* Complex numbers of C, and of C++: the same in memory. */
#ifdef __cplusplus
#define WEFT_SHMEM_COMPLEX(T) std::complex<T>
#else
#define WEFT_SHMEM_COMPLEX(T) T _Complex
#endif

#define WEFT_UNPAREN(...) __VA_ARGS__

#endif
