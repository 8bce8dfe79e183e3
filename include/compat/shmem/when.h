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

/* Complex numbers of C, and of C++: the same in memory. */
#ifdef __cplusplus
#define WEFT_SHMEM_COMPLEX(T) std::complex<T>
#else
#define WEFT_SHMEM_COMPLEX(T) T _Complex
#endif

#define WEFT_UNPAREN(...) __VA_ARGS__

#endif
