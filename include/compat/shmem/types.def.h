// The one table of element types. A row says which families exist for a type; every family of
// names, trait, test and reference page is stamped from it. Define WEFT_TYPE and include.
//
//   WEFT_TYPE(name, type, rma, amo, xamo, bits, order, arith, bamo, old)
//     rma    put, get, p, g, strided
//     amo    standard atomics: add, inc, fetch_add, fetch_inc, compare_swap   (width 4 or 8)
//     xamo   extended atomics: set, fetch, swap
//     bits   bitwise reductions: and, or, xor
//     order  min, max, wait and test
//     arith  sum, prod
//     bamo   bitwise atomics of OpenSHMEM's names: and, or, xor
//     old    deprecated names: 0 none, 1 reductions min max sum prod, 2 also and or xor, and wait
//
// Source: OpenSHMEM 1.5, tables 5, 7, 8, 9, 10 and 12. The rows are C types as the standard names
// them; types that are the same on a platform (long and long long on LP64) are still two rows.
// C and C++ read this file: <stddef.h> and <stdint.h> (or their C++ names) come before it.

// Types that differ from each other on every platform, as a macro: X(A, ...) for each row.
#define WEFT_BASIC_TYPES(X, A)                                    \
  X(A, float, float, 1, 0, 1, 0, 1, 1, 0, 1)                      \
  X(A, double, double, 1, 0, 1, 0, 1, 1, 0, 1)                    \
  X(A, longdouble, long double, 1, 0, 0, 0, 1, 1, 0, 1)           \
  X(A, char, char, 1, 0, 0, 0, 1, 1, 0, 0)                        \
  X(A, schar, signed char, 1, 0, 0, 0, 1, 1, 0, 0)                \
  X(A, short, short, 1, 0, 0, 0, 1, 1, 0, 2)                      \
  X(A, int, int, 1, 1, 1, 0, 1, 1, 0, 2)                          \
  X(A, long, long, 1, 1, 1, 0, 1, 1, 0, 2)                        \
  X(A, longlong, long long, 1, 1, 1, 0, 1, 1, 0, 2)               \
  X(A, uchar, unsigned char, 1, 0, 0, 1, 1, 1, 0, 0)              \
  X(A, ushort, unsigned short, 1, 0, 0, 1, 1, 1, 0, 0)            \
  X(A, uint, unsigned int, 1, 1, 1, 1, 1, 1, 1, 0)                \
  X(A, ulong, unsigned long, 1, 1, 1, 1, 1, 1, 1, 0)              \
  X(A, ulonglong, unsigned long long, 1, 1, 1, 1, 1, 1, 1, 0)
// For type-generic names: the standard gives bitwise families to signed types of fixed width only, so
// these rows hold what the basic rows of the same types lack.
#define WEFT_DISTINCT_TYPES(X, A)                \
  WEFT_BASIC_TYPES(X, A)                         \
  X(A, int8, int8_t, 0, 0, 0, 1, 0, 0, 0, 0)     \
  X(A, int16, int16_t, 0, 0, 0, 1, 0, 0, 0, 0)   \
  X(A, int32, int32_t, 0, 0, 0, 1, 0, 0, 1, 0)   \
  X(A, int64, int64_t, 0, 0, 0, 1, 0, 0, 1, 0)

#ifdef WEFT_TYPE
#define WEFT_TYPE_ROW(A, ...) WEFT_TYPE(__VA_ARGS__)
#ifdef WEFT_TYPE_DISTINCT_ONLY
WEFT_DISTINCT_TYPES(WEFT_TYPE_ROW, 0)
#else
WEFT_BASIC_TYPES(WEFT_TYPE_ROW, 0)
WEFT_TYPE(int8, int8_t, 1, 0, 0, 1, 1, 1, 0, 0)
WEFT_TYPE(int16, int16_t, 1, 0, 0, 1, 1, 1, 0, 0)
WEFT_TYPE(int32, int32_t, 1, 1, 1, 1, 1, 1, 1, 0)
WEFT_TYPE(int64, int64_t, 1, 1, 1, 1, 1, 1, 1, 0)
WEFT_TYPE(uint8, uint8_t, 1, 0, 0, 1, 1, 1, 0, 0)
WEFT_TYPE(uint16, uint16_t, 1, 0, 0, 1, 1, 1, 0, 0)
WEFT_TYPE(uint32, uint32_t, 1, 1, 1, 1, 1, 1, 1, 0)
WEFT_TYPE(uint64, uint64_t, 1, 1, 1, 1, 1, 1, 1, 0)
WEFT_TYPE(size, size_t, 1, 1, 1, 1, 1, 1, 0, 0)
WEFT_TYPE(ptrdiff, ptrdiff_t, 1, 1, 1, 0, 1, 1, 0, 0)
#endif
#undef WEFT_TYPE_ROW
#undef WEFT_TYPE
#endif
