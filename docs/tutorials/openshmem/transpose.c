// A square matrix lies on the PEs in bands of rows; each PE sends every other one a block.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBand = 24 };  // rows of a PE

#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
// Before teams a collective worked in words that the caller brought.
static long psync[SHMEM_ALLTOALL_SYNC_SIZE];
static void exchange(double* dst, const double* src, size_t count, int npes) {
  for (int i = 0; i < SHMEM_ALLTOALL_SYNC_SIZE; ++i) psync[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  shmem_alltoall64(dst, src, count, 0, 0, npes, psync);
}
#else
static void exchange(double* dst, const double* src, size_t count, int npes) {
  (void)npes;
  shmem_double_alltoall(SHMEM_TEAM_WORLD, dst, src, count);
}
#endif

static double element(size_t row, size_t column) { return (double)(1000 * row + column); }

int main(void) {
  shmem_init();
  const size_t me = (size_t)shmem_my_pe(), npes = (size_t)shmem_n_pes();
  const size_t wide = kBand * npes, block = kBand * kBand;
  double* const packed = shmem_malloc(npes * block * sizeof(double));
  double* const blocks = shmem_malloc(npes * block * sizeof(double));
  double* const band = malloc(kBand * wide * sizeof(double));
  if (packed == NULL || blocks == NULL || band == NULL) {
    fprintf(stderr, "transpose: no memory\n");
    shmem_global_exit(2);
  }
  for (size_t r = 0; r < kBand; ++r)
    for (size_t c = 0; c < wide; ++c) band[r * wide + c] = element(me * kBand + r, c);

  // The block for each PE together, and turned over already.
  for (size_t pe = 0; pe < npes; ++pe)
    for (size_t r = 0; r < kBand; ++r)
      for (size_t c = 0; c < kBand; ++c)
        packed[pe * block + c * kBand + r] = band[r * wide + pe * kBand + c];
  shmem_barrier_all();  // everybody's `blocks` may be written
  exchange(blocks, packed, block, (int)npes);
  for (size_t pe = 0; pe < npes; ++pe)
    for (size_t r = 0; r < kBand; ++r)
      for (size_t c = 0; c < kBand; ++c)
        band[r * wide + pe * kBand + c] = blocks[pe * block + r * kBand + c];

  int wrong = 0;
  for (size_t r = 0; r < kBand; ++r)
    for (size_t c = 0; c < wide; ++c) wrong += band[r * wide + c] != element(c, me * kBand + r);
  if (wrong != 0) fprintf(stderr, "transpose: PE %zu has %d wrong elements\n", me, wrong);
  if (me == 0) printf("transpose: %zu x %zu elements on %zu PEs\n", wide, wide, npes);
  shmem_barrier_all();
  free(band);
  shmem_free(blocks);
  shmem_free(packed);
  shmem_finalize();
  return wrong != 0;
}
