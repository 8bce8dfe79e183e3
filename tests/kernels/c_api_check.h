/* Expectations of the C programs; each program has its own `pe`. */
#ifndef WEFT_TESTS_KERNELS_C_API_CHECK_H
#define WEFT_TESTS_KERNELS_C_API_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/kernels.h>

#define REQUIRE(condition)                                                                \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "PE %d: line %d: %s does not hold; last error: %s\n", pe, __LINE__, \
              #condition, weft_kernels_error());                                          \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)
#define SUCCEEDS(call) REQUIRE((call) == WEFT_OK)
#define FAILS(call, code, words)                            \
  do {                                                      \
    REQUIRE((call) == (code));                              \
    REQUIRE(strstr(weft_kernels_error(), (words)) != NULL); \
  } while (0)

#endif
