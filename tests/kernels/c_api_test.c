/* A program in C that uses every operator, each on one PE as on many: weft-run -n N c_api_test, or
 * c_api_test alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/kernels.h>

#include "c_api_check.h"

static weft_runtime_t* job;
static int pe, npes;

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
  const weft_collective_options options = {WEFT_SIMPLE, 1, 2, NULL, NULL, 0};
  weft_plan plan;
  char text[400], few[8];
  SUCCEEDS(weft_all_reduce_create(job, &floats, &options, &op));
  fill();
  SUCCEEDS(weft_all_reduce(op, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount; ++i) REQUIRE(out[i] == sum_of_pes(i));
  SUCCEEDS(weft_all_reduce_plan(op, kCount, &plan));
  REQUIRE(plan.algorithm == WEFT_SIMPLE && plan.blocks == 1 && plan.threads == 2 && plan.piece > 0);
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
  SUCCEEDS(weft_gemm(op, NULL, c, a, b, 1, NULL, NULL));
  synchronize();
  for (int i = 0; i < 16; ++i) REQUIRE(c[i] == (i < 8 ? eight : 0));
  REQUIRE(weft_gemm_describe(op, text, sizeof(text)) > 0);
  REQUIRE(weft_gemm_workspace_bytes(op) == 0);
  weft_gemm_destroy(op);
}

/* 144 ones times 144 ones, the first 128 and the rest under scales of their own. */
static void scaled_gemm(void) {
  enum { kDepth = 144, kBlocks = 2, kSide = 8 };
  const weft_gemm_problem problem = {1, kSide, kDepth, WEFT_FLOAT8_E4M3, 0, 0, 0};
  const uint8_t one = 0x38;
  const float scales_a[kBlocks] = {0.5f, 4}, scales_b[kBlocks] = {1, 2};
  static uint8_t a[kDepth] __attribute__((aligned(16))),
      b[kSide * kDepth] __attribute__((aligned(16)));
  static uint16_t c[kSide] __attribute__((aligned(16)));
  weft_gemm_t* op = NULL;
  memset(a, one, sizeof(a));
  memset(b, one, sizeof(b));
  SUCCEEDS(weft_gemm_create(job, &problem, NULL, &op));
  FAILS(weft_gemm(op, NULL, c, a, b, 1, scales_a, NULL), WEFT_INVALID_ARGUMENT, "scales.b");
  SUCCEEDS(weft_gemm(op, NULL, c, a, b, 1, scales_a, scales_b));
  synchronize();
  for (int i = 0; i < kSide; ++i) REQUIRE(c[i] == 0x4340); /* 128 * 0.5 + 16 * 8 = 192 */
  weft_gemm_destroy(op);
}

/* The product beside a gather of rows, and beside a sum over PEs. */
static void fused_gemm(void) {
  enum { kRows = 8, kSide = 8 };
  const weft_gemm_problem problem = {kRows, kSide, kSide, WEFT_BFLOAT16, 0, 0, 0};
  const weft_gemm_rs_options ways[] = {{WEFT_GEMM_OVERLAPPED, {0, 0, NULL, 0}, NULL},
                                       {WEFT_GEMM_ONE_KERNEL, {0, 0, NULL, 0}, NULL}};
  const weft_ag_gemm_options no_algorithm = {3, 0, {0, 0, NULL, 0}, NULL};
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

  for (int way = 0; way < 2; ++way) { /* the first where npes divides the rows */
    const int forced = npes > 1 && (way == 1 || kRows % npes == 0);
    memset(c, 0, sizeof(c));
    SUCCEEDS(weft_gemm_rs_create(job, &problem, forced ? &ways[way] : NULL, &scatter));
    SUCCEEDS(weft_gemm_rs(scatter, NULL, c, a, b, kRows));
    synchronize();
    for (int i = 0; i < kRows * kSide; ++i)
      REQUIRE(c[i] == (i < mine * kSide ? sums[npes - 1] : 0));
    weft_gemm_rs_destroy(scatter);
  }

  SUCCEEDS(weft_gemm_ar_create(job, &problem, NULL, &reduce));
  SUCCEEDS(weft_gemm_ar(reduce, NULL, c, a, b, kRows));
  synchronize();
  for (int i = 0; i < kRows * kSide; ++i) REQUIRE(c[i] == sums[npes - 1]);
  weft_gemm_ar_destroy(reduce);
}

/* In symmetric memory, which the operator is told of. */
static void there(void) {
  const weft_collective_options options = {WEFT_ZERO_COPY, 1, 2, NULL, NULL, 1};
  weft_broadcast_t* op = NULL;
  void* memory = NULL;
  SUCCEEDS(weft_runtime_allocate(job, kCount * sizeof(float), &memory));
  float* const shared = (float*)memory;
  SUCCEEDS(weft_broadcast_create(job, &floats, &options, &op));
  fill();
  SUCCEEDS(weft_broadcast(op, NULL, shared, in, kCount, 0));
  synchronize();
  for (int i = 0; i < kCount; ++i) REQUIRE(shared[i] == (float)i);
  FAILS(weft_broadcast(op, NULL, out, in, kCount, 0), WEFT_NOT_SYMMETRIC,
        "is not symmetric memory");
  weft_broadcast_destroy(op);
  SUCCEEDS(weft_runtime_free(job, memory));
  SUCCEEDS(weft_runtime_free(job, NULL));
  FAILS(weft_runtime_allocate(job, 1, NULL), WEFT_INVALID_ARGUMENT, "made is null");
  FAILS(weft_runtime_free(NULL, memory), WEFT_INVALID_ARGUMENT, "the runtime is null");
}

/* Halves of the job; of an odd number of PEs the last one is in none of them. */
static void half_teams(void) {
  const int half = npes > 1 ? npes / 2 : 1;
  const int outside = pe >= 2 * half, first = pe < half || outside ? 0 : half;
  weft_team_t *low = NULL, *high = NULL;
  weft_collective_options options = {WEFT_AUTO, 0, 0, NULL, NULL, 0};
  weft_all_reduce_t* sum = NULL;
  SUCCEEDS(weft_team_split_strided(job, NULL, 0, 1, half, &low));
  if (2 * half <= npes) SUCCEEDS(weft_team_split_strided(job, NULL, half, 1, half, &high));
  options.team = first == 0 ? low : high;
  REQUIRE(weft_team_rank(options.team) == (outside ? -1 : pe - first));
  REQUIRE(weft_team_size(options.team) == (outside ? 0 : half));

  SUCCEEDS(weft_all_reduce_create(job, &floats, &options, &sum));
  fill();
  if (outside) {
    FAILS(weft_all_reduce(sum, NULL, out, in, kCount), WEFT_INVALID_ARGUMENT, "no member");
  } else {
    SUCCEEDS(weft_all_reduce(sum, NULL, out, in, kCount));
    synchronize();
    for (int i = 0; i < kCount; ++i)
      REQUIRE(out[i] == (float)(1000 * (half * first + half * (half - 1) / 2) + half * i));
  }
  weft_all_reduce_destroy(sum);
  if (npes > 1) {
    if (pe == 0) options.team = NULL;
    FAILS(weft_all_reduce_create(job, &floats, &options, &sum), WEFT_INVALID_ARGUMENT,
          "the team's size is");
  }
  SUCCEEDS(weft_team_destroy(low));
  SUCCEEDS(weft_team_destroy(high));
}

/* All PEs, the last one first. */
static void a_team_in_another_order(void) {
  enum { kSide = 8 };
  const uint16_t values[] = {0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0}; /* 1, 2, 3, 4, 5 */
  const weft_gemm_problem problem = {1, kSide, kSide, WEFT_BFLOAT16, 0, 0, 0};
  weft_ag_gemm_options fused = {WEFT_GEMM_BEST, 0, {0, 0, NULL, 0}, NULL};
  weft_collective_options options = {WEFT_AUTO, 0, 0, NULL, NULL, 0};
  static uint16_t a[kSide] __attribute__((aligned(16))),
      b[kSide * kSide] __attribute__((aligned(16))),
      c[kMostPes * kSide] __attribute__((aligned(16))),
      rows[kMostPes * kSide] __attribute__((aligned(16)));
  int ranks[kMostPes];
  weft_team_t *team = NULL, *alone = NULL;
  weft_all_gather_t* gather = NULL;
  weft_ag_gemm_t* gemm = NULL;
  for (int r = 0; r < npes; ++r) ranks[r] = npes - 1 - r;
  SUCCEEDS(weft_team_from_list(job, NULL, ranks, (size_t)npes, &team));
  REQUIRE(weft_team_rank(team) == npes - 1 - pe && weft_team_size(team) == npes);
  options.team = fused.team = team;

  SUCCEEDS(weft_all_gather_create(job, &floats, &options, &gather));
  fill();
  SUCCEEDS(weft_all_gather(gather, NULL, out, in, kCount));
  synchronize();
  for (int i = 0; i < kCount * npes; ++i)
    REQUIRE(out[i] == (float)(1000 * (npes - 1 - i / kCount) + i % kCount));
  weft_all_gather_destroy(gather);

  REQUIRE(npes <= 5);
  for (int i = 0; i < kSide; ++i) a[i] = values[pe];
  SUCCEEDS(weft_ag_gemm_create(job, &problem, &fused, &gemm));
  SUCCEEDS(weft_ag_gemm(gemm, NULL, c, a, b, 1, rows));
  synchronize();
  for (int i = 0; i < npes * kSide; ++i) REQUIRE(rows[i] == values[npes - 1 - i / kSide]);
  weft_ag_gemm_destroy(gemm);

  /* Its rank 0 is the last PE. */
  SUCCEEDS(weft_team_split_strided(job, team, 0, 1, 1, &alone));
  REQUIRE(weft_team_rank(alone) == (pe == npes - 1 ? 0 : -1));
  SUCCEEDS(weft_team_destroy(alone));
  SUCCEEDS(weft_team_destroy(team));
}

static void bad_teams(void) {
  const int twice[] = {0, 0};
  weft_team_t* team = NULL;
  FAILS(weft_team_split_strided(NULL, NULL, 0, 1, 1, &team), WEFT_INVALID_ARGUMENT, "the runtime");
  FAILS(weft_team_split_strided(job, NULL, 0, 1, 1, NULL), WEFT_INVALID_ARGUMENT, "made is null");
  FAILS(weft_team_split_strided(job, NULL, 0, 1, 0, &team), WEFT_OUT_OF_RANGE, "size is 0");
  FAILS(weft_team_split_strided(job, NULL, npes, 1, 1, &team), WEFT_OUT_OF_RANGE, "start is");
  FAILS(weft_team_from_list(job, NULL, NULL, 1, &team), WEFT_INVALID_ARGUMENT, "ranks is null");
  FAILS(weft_team_from_list(job, NULL, twice, 2, &team), WEFT_INVALID_ARGUMENT, "ranks");
  REQUIRE(team == NULL && weft_team_rank(NULL) == -1 && weft_team_size(NULL) == 0);
  SUCCEEDS(weft_team_destroy(NULL));
}

/* A process that no launcher has started may be in several jobs, each of one PE. */
static void a_team_of_another_job(void) {
  weft_team_t* team = NULL;
  weft_all_reduce_t* op = NULL;
  weft_runtime_t* other = NULL;
  weft_collective_options options = {WEFT_AUTO, 0, 0, NULL, NULL, 0};
  SUCCEEDS(weft_runtime_create(&other));
  SUCCEEDS(weft_team_split_strided(other, NULL, 0, 1, 1, &team));
  options.team = team;
  FAILS(weft_all_reduce_create(job, &floats, &options, &op), WEFT_INVALID_ARGUMENT,
        "weft_all_reduce_create: options.team is a team of another runtime");
  FAILS(weft_team_split_strided(job, team, 0, 1, 1, &team), WEFT_INVALID_ARGUMENT,
        "weft_team_split_strided: parent is a team of another runtime");
  SUCCEEDS(weft_team_destroy(team));
  weft_runtime_destroy(other);
}

static void wrong_arguments(void) {
  weft_all_reduce_t* op = NULL;
  const weft_collective_problem no_type = {1, 77, WEFT_SUM}, no_op = {1, WEFT_INT32, -1};
  const weft_collective_options no_table = {WEFT_AUTO, 0, 0, "/no/such/table", NULL, 0};
  const weft_collective_options no_algorithm = {99, 0, 0, NULL, NULL, 0};
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

int main(int argc, char** argv) {
  SUCCEEDS(weft_runtime_create(&job));
  pe = weft_runtime_pe(job);
  npes = weft_runtime_npes(job);
  REQUIRE(npes <= kMostPes && weft_runtime_gpu(job) == -1);
  all_reduce();
  moves();
  all_to_all_v();
  all_reduce_norm();
  gemm();
  scaled_gemm();
  fused_gemm();
  there();
  half_teams();
  a_team_in_another_order();
  bad_teams();
  if (argc > 1 && strcmp(argv[1], "alone") == 0) a_team_of_another_job();
  wrong_arguments();
  SUCCEEDS(weft_runtime_barrier(job));
  SUCCEEDS(weft_runtime_health(job));
  weft_runtime_destroy(job);
  return 0;
}
