/* The macros of NVSHMEM's non_abi/nvshmemx_error.h, which programs use for their own reports. A
 * status that is a failure is printed with the place; the *_JMP forms then set `status` to `err`
 * and jump to `label`, the *_EXIT forms end the program. */
#ifndef WEFT_COMPAT_NVSHMEM_ERROR_H
#define WEFT_COMPAT_NVSHMEM_ERROR_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define nvshmemxi_error_unlikely(condition) __builtin_expect(!!(condition), 0)

/* One line on standard error: the place, then the caller's format and arguments. */
#define WEFT_NVSHMEM_REPORT(...)                                                                   \
  (fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, __FUNCTION__), fprintf(stderr, __VA_ARGS__), \
   (void)fputc('\n', stderr))

#define WEFT_NVSHMEM_REPORT_IF(condition, afterwards, ...) \
  do {                                                     \
    if (nvshmemxi_error_unlikely(condition)) {             \
      WEFT_NVSHMEM_REPORT(__VA_ARGS__);                    \
      afterwards;                                          \
    }                                                      \
  } while (0)
#define WEFT_NVSHMEM_JUMP_IF(condition, status, err, label, ...) \
  do {                                                           \
    if (nvshmemxi_error_unlikely(condition)) {                   \
      WEFT_NVSHMEM_REPORT(__VA_ARGS__);                          \
      (status) = (err);                                          \
      goto label;                                                \
    }                                                            \
  } while (0)

#define NVSHMEMI_ERROR_PRINT(...)     \
  do {                                \
    WEFT_NVSHMEM_REPORT(__VA_ARGS__); \
  } while (0)
#define NVSHMEMI_ERROR_EXIT(...) WEFT_NVSHMEM_REPORT_IF(1, exit(-1), __VA_ARGS__)
#define NVSHMEMI_WARN_PRINT(...)  \
  do {                            \
    fprintf(stdout, "warning: "); \
    fprintf(stdout, __VA_ARGS__); \
    fputc('\n', stdout);          \
  } while (0)

#define NVSHMEMI_ERROR_JMP(status, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF(1, status, err, label, __VA_ARGS__)
#define NVSHMEMI_NULL_ERROR_JMP(var, status, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF((var) == NULL, status, err, label, __VA_ARGS__)
#define NVSHMEMI_EQ_ERROR_JMP(status, expected, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF((status) == (expected), status, err, label, __VA_ARGS__)
#define NVSHMEMI_NE_ERROR_JMP(status, expected, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF((status) != (expected), status, err, label, __VA_ARGS__)
#define NVSHMEMI_NZ_ERROR_JMP(status, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF((status) != 0, status, err, label, __VA_ARGS__)
#define NVSHMEMI_CHECK_ERROR_JMP(statement, status, err, label, ...) \
  WEFT_NVSHMEM_JUMP_IF(statement, status, err, label, __VA_ARGS__)
#define NVSHMEMI_NZ_EXIT(status, ...) WEFT_NVSHMEM_REPORT_IF((status) != 0, exit(-1), __VA_ARGS__)
#define NVSHMEMI_NZ_SYSCHECK_EXIT(sys_status, ...)        \
  do {                                                    \
    const int weft_sys_status = (sys_status);             \
    if (nvshmemxi_error_unlikely(weft_sys_status != 0)) { \
      fprintf(stderr, "%s: ", strerror(weft_sys_status)); \
      NVSHMEMI_ERROR_EXIT(__VA_ARGS__);                   \
    }                                                     \
  } while (0)

#endif
