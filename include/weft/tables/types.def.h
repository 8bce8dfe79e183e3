// The one table of element types. A row says which families exist for a type; every family of
// names, trait, test and reference page is stamped from it. Define WEFT_TYPE and include.
//
//   WEFT_TYPE(name, type, rma, amo, xamo, bits, order, arith)
//     rma    put, get, p, g, strided
//     amo    standard atomics: add, inc, fetch_add, fetch_inc, compare_swap   (width 4 or 8)
//     xamo   extended atomics: set, fetch, swap
//     bits   bitwise atomics and reductions: and, or, xor
//     order  min, max, wait and test
//     arith  sum, prod
//
// Source: OpenSHMEM 1.5, tables 5, 7, 8, 9, 10 and 12. The rows are C types as the standard names
// them; types that are the same on a platform (long and long long on LP64) are still two rows.
WEFT_TYPE(float, float, 1, 0, 1, 0, 1, 1)
WEFT_TYPE(double, double, 1, 0, 1, 0, 1, 1)
WEFT_TYPE(longdouble, long double, 1, 0, 0, 0, 1, 1)
WEFT_TYPE(char, char, 1, 0, 0, 0, 1, 1)
WEFT_TYPE(schar, signed char, 1, 0, 0, 0, 1, 1)
WEFT_TYPE(short, short, 1, 0, 0, 0, 1, 1)
WEFT_TYPE(int, int, 1, 1, 1, 0, 1, 1)
WEFT_TYPE(long, long, 1, 1, 1, 0, 1, 1)
WEFT_TYPE(longlong, long long, 1, 1, 1, 0, 1, 1)
WEFT_TYPE(uchar, unsigned char, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(ushort, unsigned short, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(uint, unsigned int, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(ulong, unsigned long, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(ulonglong, unsigned long long, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(int8, std::int8_t, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(int16, std::int16_t, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(int32, std::int32_t, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(int64, std::int64_t, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(uint8, std::uint8_t, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(uint16, std::uint16_t, 1, 0, 0, 1, 1, 1)
WEFT_TYPE(uint32, std::uint32_t, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(uint64, std::uint64_t, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(size, std::size_t, 1, 1, 1, 1, 1, 1)
WEFT_TYPE(ptrdiff, std::ptrdiff_t, 1, 1, 1, 0, 1, 1)
#undef WEFT_TYPE
