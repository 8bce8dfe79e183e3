/* A program in C that uses every operator, each on one PE as on many: weft-run -n N c_api_test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/kernels.h>

static weft_runtime_t* job;
static int pe, npes;

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

enum { kCount = 100, kMostPes = 8 };
static const weft_collective_problem floats = {kCount, WEFT_FLOAT32, WEFT_SUM};
static float in[kCount * kMostPes], out[kCount * kMostPes];

static void fill(void) {
  for (int i = 0; i < kCount * npes; ++i) {
    in[i] = (float)(1000 * pe + i);
    out[i] = -1;
  }
}
static void synchronize(void) { SUCCEEDS(weft_runtime_synchronize(job, NULL)); }
static float sum_of_pes(int i) { return (float)(1000 * npes * (npes - 1) / 2 + npes * i); }

static void all_reduce(void) {
  weft_all_reduce_t* op = NULL;
  const weft_collective_options options = {WEFT_BULK, 1, 2, NULL};
  weft_plan plan;
  char text[400], few[8];
  SUCCEEDS(weft_all_reduce_create(job, &floats, &options, &op));
  fill();
  SUCCEEDS(weft_all_reduce(op, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount; ++i) REQUIRE(out[i] == sum_of_pes(i));
  SUCCEEDS(weft_all_reduce_plan(op, kCount, &plan));
  REQUIRE(plan.algorithm == WEFT_BULK && plan.blocks == 1 && plan.threads == 2 && plan.piece > 0);
  REQUIRE(weft_all_reduce_describe(op, text, sizeof(text)) == strlen(text));
  REQUIRE(strstr(text, "AllReduce of up to 100 float32") == text);
  REQUIRE(weft_all_reduce_describe(op, few, sizeof(few)) == strlen(text));
  REQUIRE(strcmp(few, "AllRedu") == 0);
  REQUIRE(weft_all_reduce_describe(op, NULL, 0) == strlen(text));
  REQUIRE(weft_all_reduce_workspace_bytes(op) > 0);
  FAILS(weft_all_reduce(op, NULL, out, in, kCount + 1), WEFT_INVALID_ARGUMENT, "count is 101");
  FAILS(weft_all_reduce(NULL, NULL, out, in, 1), WEFT_INVALID_ARGUMENT,
        "weft_all_reduce: the operator");
  weft_all_reduce_destroy(op);
  weft_all_reduce_destroy(NULL);
}

static void moves(void) {
  weft_all_gather_t* gather = NULL;
  weft_reduce_scatter_t* scatter = NULL;
  weft_all_to_all_t* exchange = NULL;
  weft_broadcast_t* cast = NULL;
  SUCCEEDS(weft_all_gather_create(job, &floats, NULL, &gather));
  SUCCEEDS(weft_reduce_scatter_create(job, &floats, NULL, &scatter));
  SUCCEEDS(weft_all_to_all_create(job, &floats, NULL, &exchange));
  SUCCEEDS(weft_broadcast_create(job, &floats, NULL, &cast));
  fill();
  SUCCEEDS(weft_all_gather(gather, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount * npes; ++i)
    REQUIRE(out[i] == (float)(1000 * (i / kCount) + i % kCount));
  SUCCEEDS(weft_reduce_scatter(scatter, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount; ++i) REQUIRE(out[i] == sum_of_pes(pe * kCount + i));
  SUCCEEDS(weft_all_to_all(exchange, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount * npes; ++i)
    REQUIRE(out[i] == (float)(1000 * (i / kCount) + pe * kCount + i % kCount));
  SUCCEEDS(weft_broadcast(cast, NULL, out, in, kCount, npes - 1));
  synchronize();
  for (int i = 0; i < kCount; ++i) REQUIRE(out[i] == (float)(1000 * (npes - 1) + i));
  FAILS(weft_broadcast(cast, NULL, out, in, kCount, npes), WEFT_OUT_OF_RANGE, "root is");
  weft_all_gather_destroy(gather);
  weft_reduce_scatter_destroy(scatter);
  weft_all_to_all_destroy(exchange);
  weft_broadcast_destroy(cast);
}

static void all_to_all_v(void) {
  weft_all_to_all_v_t* op = NULL;
  uint64_t send[kMostPes], offsets[kMostPes], received[kMostPes];
  SUCCEEDS(weft_all_to_all_v_create(job, &floats, NULL, &op));
  for (int r = 0; r < npes; ++r) {
    send[r] = (uint64_t)(pe + r);
    offsets[r] = (uint64_t)(r * kCount);
  }
  fill();
  SUCCEEDS(weft_all_to_all_v(op, NULL, out, in, send, offsets, offsets, received));
  synchronize();
  for (int r = 0; r < npes; ++r) {
    REQUIRE(received[r] == (uint64_t)(pe + r));
    for (int i = 0; i < pe + r; ++i)
      REQUIRE(out[r * kCount + i] == (float)(1000 * r + pe * kCount + i));
  }
  weft_all_to_all_v_destroy(op);
}

static void all_reduce_norm(void) {
  const weft_all_reduce_norm_problem problem = {2, 4, WEFT_FLOAT32, 0.0f};
  const float residual[8] = {2, 2, 2, 2, 0, 0, 0, 0}, weight[4] = {1, 2, 3, 4};
  const float zeros[8] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  float sums[8];
  weft_all_reduce_norm_t* op = NULL;
  weft_plan plan;
  SUCCEEDS(weft_all_reduce_norm_create(job, &problem, NULL, &op));
  SUCCEEDS(weft_all_reduce_norm_plan(op, 8, &plan));
  SUCCEEDS(weft_all_reduce_norm(op, NULL, out, sums, pe == 0 ? ones : zeros, residual, weight, 2));
  synchronize();
  for (int i = 0; i < 8; ++i) {
    REQUIRE(sums[i] == (i < 4 ? 3.0f : 1.0f));
    REQUIRE(out[i] > 0.999f * weight[i % 4] && out[i] < 1.001f * weight[i % 4]);
  }
  FAILS(weft_all_reduce_norm(op, NULL, out, sums, ones, residual, NULL, 2), WEFT_INVALID_ARGUMENT,
        "weight is null");
  weft_all_reduce_norm_destroy(op);
}

static void gemm(void) {
  const weft_gemm_problem problem = {2, 8, 8, WEFT_BFLOAT16, 0, 0, 0};
  const uint16_t one = 0x3f80, eight = 0x4100;
  static uint16_t a[16] __attribute__((aligned(16))), b[64] __attribute__((aligned(16))),
      c[16] __attribute__((aligned(16)));
  weft_gemm_t* op = NULL;
  char text[200];
  for (int i = 0; i < 64; ++i) b[i] = one;
  for (int i = 0; i < 16; ++i) a[i] = one;
  SUCCEEDS(weft_gemm_create(job, &problem, NULL, &op));
  SUCCEEDS(weft_gemm(op, NULL, c, a, b, 1));
  synchronize();
  for (int i = 0; i < 16; ++i) REQUIRE(c[i] == (i < 8 ? eight : 0));
  REQUIRE(weft_gemm_describe(op, text, sizeof(text)) > 0);
  REQUIRE(weft_gemm_workspace_bytes(op) == 0);
  weft_gemm_destroy(op);
}

/* The product beside a gather of rows, and beside a sum over PEs. */
static void fused_gemm(void) {
  enum { kRows = 8, kSide = 8 };
  const weft_gemm_problem problem = {kRows, kSide, kSide, WEFT_BFLOAT16, 0, 0, 0};
  const weft_gemm_rs_options at_once = {WEFT_GEMM_OVERLAPPED, {0, 0, NULL}};
  const weft_ag_gemm_options no_algorithm = {3, 0, {0, 0, NULL}};
  const uint16_t one = 0x3f80, eight = 0x4100;
  const uint16_t sums[] = {0x4100, 0x4180, 0x41c0, 0x4200, 0x4220}; /* 8, 16, 24, 32, 40 */
  static uint16_t a[kRows * kSide] __attribute__((aligned(16))),
      b[kSide * kSide] __attribute__((aligned(16))),
      c[kMostPes * kRows * kSide] __attribute__((aligned(16))),
      gathered[kMostPes * kRows * kSide] __attribute__((aligned(16)));
  const int share = (kRows + npes - 1) / npes;
  const int left = kRows - pe * share;
  const int mine = left < 0 ? 0 : left < share ? left : share;
  weft_ag_gemm_t* gather = NULL;
  weft_gemm_rs_t* scatter = NULL;
  weft_gemm_ar_t* reduce = NULL;
  REQUIRE(npes <= 5);
  for (int i = 0; i < kRows * kSide; ++i) a[i] = b[i] = one;

  FAILS(weft_ag_gemm_create(job, &problem, &no_algorithm, &gather), WEFT_INVALID_ARGUMENT,
        "options.algorithm is 3");
  SUCCEEDS(weft_ag_gemm_create(job, &problem, NULL, &gather));
  SUCCEEDS(weft_ag_gemm(gather, NULL, c, a, b, kRows, gathered));
  synchronize();
  for (int i = 0; i < npes * kRows * kSide; ++i) REQUIRE(c[i] == eight && gathered[i] == one);
  weft_ag_gemm_destroy(gather);

  memset(c, 0, sizeof(c));
  SUCCEEDS(weft_gemm_rs_create(job, &problem, kRows % npes == 0 && npes > 1 ? &at_once : NULL,
                               &scatter));
  SUCCEEDS(weft_gemm_rs(scatter, NULL, c, a, b, kRows));
  synchronize();
  for (int i = 0; i < kRows * kSide; ++i) REQUIRE(c[i] == (i < mine * kSide ? sums[npes - 1] : 0));
  weft_gemm_rs_destroy(scatter);

  SUCCEEDS(weft_gemm_ar_create(job, &problem, NULL, &reduce));
  SUCCEEDS(weft_gemm_ar(reduce, NULL, c, a, b, kRows));
  synchronize();
  for (int i = 0; i < kRows * kSide; ++i) REQUIRE(c[i] == sums[npes - 1]);
  weft_gemm_ar_destroy(reduce);
}

static void wrong_arguments(void) {
  weft_all_reduce_t* op = NULL;
  const weft_collective_problem no_type = {1, 77, WEFT_SUM}, no_op = {1, WEFT_INT32, -1};
  const weft_collective_options no_table = {WEFT_AUTO, 0, 0, "/no/such/table"};
  const weft_collective_options no_algorithm = {99, 0, 0, NULL};
  FAILS(weft_runtime_create(NULL), WEFT_INVALID_ARGUMENT, "made is null");
  FAILS(weft_all_reduce_create(NULL, &floats, NULL, &op), WEFT_INVALID_ARGUMENT, "the runtime");
  FAILS(weft_all_reduce_create(job, NULL, NULL, &op), WEFT_INVALID_ARGUMENT, "the problem");
  FAILS(weft_all_reduce_create(job, &floats, NULL, NULL), WEFT_INVALID_ARGUMENT, "made is null");
  FAILS(weft_all_reduce_create(job, &no_type, NULL, &op), WEFT_INVALID_ARGUMENT, "dtype is 77");
  FAILS(weft_all_reduce_create(job, &no_op, NULL, &op), WEFT_UNSUPPORTED, "kSum, kMin or kMax");
  FAILS(weft_all_reduce_create(job, &floats, &no_table, &op), WEFT_IO, "/no/such/table");
  FAILS(weft_all_reduce_create(job, &floats, &no_algorithm, &op), WEFT_UNSUPPORTED, "no algorithm");
  REQUIRE(op == NULL);
}

int main(void) {
  SUCCEEDS(weft_runtime_create(&job));
  pe = weft_runtime_pe(job);
  npes = weft_runtime_npes(job);
  REQUIRE(npes <= kMostPes && weft_runtime_gpu(job) == -1);
  all_reduce();
  moves();
  all_to_all_v();
  all_reduce_norm();
  gemm();
  fused_gemm();
  wrong_arguments();
  SUCCEEDS(weft_runtime_barrier(job));
  SUCCEEDS(weft_runtime_health(job));
  weft_runtime_destroy(job);
  return 0;
}
