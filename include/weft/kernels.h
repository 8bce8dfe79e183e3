/* The operators of weft::kernels in C, for languages that call C: libweft_kernels.so has the names.
 *
 *   weft_runtime_t* job;
 *   weft_all_reduce_t* sum;
 *   weft_collective_problem problem = {1 << 20, WEFT_BFLOAT16, WEFT_SUM};
 *   if (weft_runtime_create(&job) != 0 || weft_all_reduce_create(job, &problem, NULL, &sum) != 0)
 *     return fail(weft_kernels_error());
 *   weft_all_reduce(sum, stream, out, in, count);
 *
 * Each operator NAME of weft/tables/operators.def.h has these functions over the class of the same
 * name, whose header says what shapes, buffers and calls may be:
 *
 *   int weft_NAME_create(weft_runtime_t*, const PROBLEM*, const OPTIONS*, weft_NAME_t** made);
 *   int weft_NAME(weft_NAME_t*, void* stream, ...);      a call, queued on the stream
 *   int weft_NAME_plan(const weft_NAME_t*, size_t count, weft_plan*);      collectives only
 *   size_t weft_NAME_describe(const weft_NAME_t*, char* text, size_t room);
 *   size_t weft_NAME_workspace_bytes(const weft_NAME_t*);      symmetric memory; 0: none
 *   void weft_NAME_destroy(weft_NAME_t*);      null does nothing
 *
 * create and destroy are collective over the job, also where options.team names some of its PEs:
 * all PEs then have teams of one size, and who is no member of its own gets an operator that
 * refuses calls. OPTIONS null: all as it is by default, and so is each member that is 0. stream: a
 * cudaStream_t; on host threads null. describe writes what fits into room, with a 0 behind it, and
 * returns how long the text is.
 *
 * Functions that return an int return 0, or a weft_code; weft_kernels_error() then says what went
 * wrong and how to mend it. A handle is one thread's at a time. */
#ifndef WEFT_KERNELS_H
#define WEFT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* weft::Code. */
typedef enum {
  WEFT_OK,
  WEFT_INVALID_ARGUMENT,
  WEFT_OUT_OF_RANGE,
  WEFT_NOT_SYMMETRIC,
  WEFT_UNSUPPORTED,
  WEFT_BUSY,
  WEFT_OUT_OF_MEMORY,
  WEFT_TIMEOUT,
  WEFT_IO,
  WEFT_PEER_LOST,
  WEFT_VERSION_MISMATCH,
  WEFT_ABORTED,
  WEFT_INTERNAL
} weft_code;
/* weft::kernels::DType. */
typedef enum {
  WEFT_FLOAT32,
  WEFT_FLOAT16,
  WEFT_BFLOAT16,
  WEFT_INT32,
  WEFT_UINT8,
  WEFT_FLOAT8_E4M3
} weft_dtype;
/* weft::ReduceOp, of which operators take these. */
typedef enum { WEFT_SUM = 0, WEFT_MIN = 2, WEFT_MAX = 3 } weft_reduce_op;
/* weft::kernels::Algorithm. */
typedef enum {
  WEFT_AUTO,
  WEFT_LL,
  WEFT_TWO_SHOT_LL,
  WEFT_SIMPLE,
  WEFT_SCATTERED_SIMPLE,
  WEFT_LAMPORT,
  WEFT_TWO_SHOT_LAMPORT,
  WEFT_ZERO_COPY
} weft_algorithm;
/* weft::kernels::GemmRsAlgorithm, GemmArAlgorithm, and AgGemmAlgorithm, which lacks the last. */
typedef enum {
  WEFT_GEMM_BEST,
  WEFT_GEMM_SEQUENTIAL,
  WEFT_GEMM_OVERLAPPED,
  WEFT_GEMM_ONE_KERNEL
} weft_gemm_algorithm;
/* weft::kernels::GemmBackend. */
typedef enum { WEFT_GEMM_AUTO, WEFT_GEMM_KERNELS, WEFT_GEMM_CUBLAS } weft_gemm_backend;

/* Some of a job's PEs, in order: weft::Team. */
typedef struct weft_team_t weft_team_t;

typedef struct {
  size_t max_count;
  int dtype; /* a weft_dtype */
  int op;    /* a weft_reduce_op */
} weft_collective_problem;
typedef struct {
  int algorithm; /* a weft_algorithm */
  unsigned blocks, threads;
  const char* table;       /* a file as weft/kernels/table.hpp has it; null: WEFT_KERNELS_TABLE */
  const weft_team_t* team; /* of the same runtime; null: all PEs */
  int symmetric;           /* not 0: weft::kernels::CollectiveOptions::symmetric */
} weft_collective_options;
typedef struct {
  size_t max_rows, hidden;
  int dtype;
  float epsilon;
} weft_all_reduce_norm_problem;
typedef struct {
  int64_t m, n, k;
  int dtype;
  int64_t lda, ldb, ldc; /* 0: k, k, n */
} weft_gemm_problem;
typedef struct {
  int backend; /* a weft_gemm_backend */
  int num_sms;
  const char* tile;
  int constant_b;
} weft_gemm_options;
typedef struct {
  int algorithm; /* a weft_gemm_algorithm */
  unsigned push_blocks;
  weft_gemm_options gemm;
  const weft_team_t* team; /* null: all PEs */
} weft_ag_gemm_options;
typedef struct {
  int algorithm; /* a weft_gemm_algorithm */
  weft_gemm_options gemm;
  const weft_team_t* team; /* null: all PEs */
} weft_gemm_rs_options;
typedef struct {
  int algorithm; /* a weft_gemm_algorithm */
  weft_gemm_options gemm;
  const weft_team_t* team; /* null: all PEs */
} weft_gemm_ar_options;
/* weft::kernels::Plan. algorithm: -1 for one that weft_algorithm does not have. */
typedef struct {
  int algorithm;
  unsigned blocks, threads;
  size_t piece;
} weft_plan;

/* The text of this thread's last failure; "" if there was none. Until its next one. */
const char* weft_kernels_error(void);

/* One PE's membership of a job: weft::Runtime, which finds its launcher by itself. Collective.
 * Operators go before their runtime. */
typedef struct weft_runtime_t weft_runtime_t;
int weft_runtime_create(weft_runtime_t** made);
/* Under a launcher that carries no id, such as torchrun: one process makes a unique id for npes PEs
 * (0: as many as the first that comes says), its text goes to all by any means, and each creates
 * its runtime from that as PE pe of npes. address: where the others reach the process that made it,
 * "0.0.0.0" for all addresses of its host; null: WEFT_BIND_ADDRESS, or else this host alone. The
 * text lives as long as the id, which goes once all PEs have their runtimes, or later. */
typedef struct weft_unique_id_t weft_unique_id_t;
int weft_unique_id_create(int npes, const char* address, weft_unique_id_t** made);
const char* weft_unique_id_text(const weft_unique_id_t* id);
void weft_unique_id_destroy(weft_unique_id_t* id); /* null does nothing */
int weft_runtime_create_with_id(const char* text, int pe, int npes, weft_runtime_t** made);
void weft_runtime_destroy(weft_runtime_t* runtime);
int weft_runtime_pe(const weft_runtime_t* runtime);
int weft_runtime_npes(const weft_runtime_t* runtime);
int weft_runtime_gpu(const weft_runtime_t* runtime); /* -1: kernels run on host threads */
int weft_runtime_barrier(weft_runtime_t* runtime);
int weft_runtime_synchronize(weft_runtime_t* runtime,
                             void* stream);       /* all that is queued has run */
int weft_runtime_health(weft_runtime_t* runtime); /* the first failure of a kernel, or of a PE */
/* Symmetric memory for kernels, as options.symmetric speaks of it: Runtime::allocate_device_bytes
 * and Runtime::free. Collective, of the same size on all PEs. */
int weft_runtime_allocate(weft_runtime_t* runtime, size_t bytes, void** made);
int weft_runtime_free(weft_runtime_t* runtime, void* memory); /* null does nothing */

/* Teams, collective over their parent (null: all PEs), whose members all ask for the same. A PE
 * that is not in the new team gets one of which it is no member. Teams go after the operators that
 * were made on them, and before their runtime.
 *   split_strided: the parent's ranks start, start + stride, and so on; stride may be negative
 *   from_list: `count` ranks of the parent, in the order that the new team's ranks shall have */
int weft_team_split_strided(weft_runtime_t* runtime, const weft_team_t* parent, int start,
                            int stride, int size, weft_team_t** made);
int weft_team_from_list(weft_runtime_t* runtime, const weft_team_t* parent, const int* ranks,
                        size_t count, weft_team_t** made);
int weft_team_rank(const weft_team_t* team); /* of this PE; -1: it is no member */
int weft_team_size(const weft_team_t* team); /* 0: this PE is no member */
int weft_team_destroy(weft_team_t* team);    /* collective over its members; null does nothing */

#define WEFT_KERNELS_PARAMETERS(...) __VA_ARGS__
#define WEFT_OPERATOR(name, Class, problem, options, parameters, arguments)                     \
  typedef struct weft_##name##_t weft_##name##_t;                                               \
  int weft_##name##_create(weft_runtime_t*, const problem*, const options*, weft_##name##_t**); \
  int weft_##name(weft_##name##_t*, void* stream, WEFT_KERNELS_PARAMETERS parameters);          \
  size_t weft_##name##_describe(const weft_##name##_t*, char* text, size_t room);               \
  size_t weft_##name##_workspace_bytes(const weft_##name##_t*);                                 \
  void weft_##name##_destroy(weft_##name##_t*);
#include <weft/tables/operators.def.h>

#define WEFT_OPERATOR(name, Class, problem, options, parameters, arguments)
#define WEFT_COLLECTIVE(name, Class, problem, options, parameters, arguments) \
  int weft_##name##_plan(const weft_##name##_t*, size_t count, weft_plan*);
#include <weft/tables/operators.def.h>
#undef WEFT_KERNELS_PARAMETERS

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
