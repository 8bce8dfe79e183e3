// Heat on a plate that is cut into blocks. In each step a PE computes its block, puts the edges
// into its neighbours' halos, and tells them by a flag for each side.
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 12, kColumns = 16, kSteps = 25 };  // of a block
enum { kNorth, kSouth, kWest, kEast, kSides };

// Two plates with a halo around each: one is read while the other is written. A neighbour is never
// more than one step ahead, since it waits for my edges, too.
static double plate[2][kRows + 2][kColumns + 2];
static long arrived[kSides];  // steps whose edge has come from that side

static int rows, columns;  // of blocks
static int neighbour[kSides];

static double start_value(int row, int column) { return row == 0 ? 100.0 + column : 0.0; }

static double relaxed(double here, double north, double south, double west, double east) {
  return here + 0.2 * (north + south + west + east - 4 * here);
}

// As square as the number of PEs allows.
static void place(int me, int npes) {
  rows = (int)sqrt((double)npes);
  while (npes % rows != 0) --rows;
  columns = npes / rows;
  const int row = me / columns, column = me % columns;
  neighbour[kNorth] = row > 0 ? me - columns : -1;
  neighbour[kSouth] = row < rows - 1 ? me + columns : -1;
  neighbour[kWest] = column > 0 ? me - 1 : -1;
  neighbour[kEast] = column < columns - 1 ? me + 1 : -1;
}

// My edges into the halos of plate `to` of the neighbours; a column is strided.
static void send_edges(int to, long step) {
  static const int opposite[kSides] = {kSouth, kNorth, kEast, kWest};
  double(*p)[kColumns + 2] = plate[to];
  const int stride = kColumns + 2;
  if (neighbour[kNorth] >= 0)
    shmem_double_put(&p[kRows + 1][1], &p[1][1], kColumns, neighbour[kNorth]);
  if (neighbour[kSouth] >= 0) shmem_double_put(&p[0][1], &p[kRows][1], kColumns, neighbour[kSouth]);
  if (neighbour[kWest] >= 0)
    shmem_double_iput(&p[1][kColumns + 1], &p[1][1], stride, stride, kRows, neighbour[kWest]);
  if (neighbour[kEast] >= 0)
    shmem_double_iput(&p[1][0], &p[1][kColumns], stride, stride, kRows, neighbour[kEast]);
  shmem_fence();  // the edges are there before the flags
  for (int side = 0; side < kSides; ++side)
    if (neighbour[side] >= 0) shmem_long_p(&arrived[opposite[side]], step, neighbour[side]);
  shmem_quiet();  // nobody waits for what is still on its way
}

static void wait_for_edges(long step) {
  for (int side = 0; side < kSides; ++side)
    if (neighbour[side] >= 0) shmem_long_wait_until(&arrived[side], SHMEM_CMP_GE, step);
}

static void compute(int from, int to) {
  double(*p)[kColumns + 2] = plate[from];
  for (int r = 1; r <= kRows; ++r)
    for (int c = 1; c <= kColumns; ++c)
      plate[to][r][c] = relaxed(p[r][c], p[r - 1][c], p[r + 1][c], p[r][c - 1], p[r][c + 1]);
}

// The whole plate by one PE, in the same order of additions, so that equal means equal.
static int count_wrong(int me) {
  const int high = rows * kRows, wide = columns * kColumns, stride = wide + 2;
  double* old = calloc((size_t)(high + 2) * (size_t)stride, sizeof(double));
  double* fresh = calloc((size_t)(high + 2) * (size_t)stride, sizeof(double));
  if (old == NULL || fresh == NULL) return -1;
  for (int r = 0; r < high; ++r)
    for (int c = 0; c < wide; ++c) old[(r + 1) * stride + c + 1] = start_value(r, c);
  for (int step = 0; step < kSteps; ++step) {
    for (int r = 1; r <= high; ++r)
      for (int c = 1; c <= wide; ++c) {
        const double* o = old + r * stride + c;
        fresh[r * stride + c] = relaxed(o[0], o[-stride], o[stride], o[-1], o[1]);
      }
    double* const swap = old;
    old = fresh;
    fresh = swap;
  }
  int wrong = 0;
  const int top = me / columns * kRows, left = me % columns * kColumns;
  for (int r = 1; r <= kRows; ++r)
    for (int c = 1; c <= kColumns; ++c)
      wrong += fabs(plate[kSteps % 2][r][c] - old[(top + r) * stride + left + c]) > 1e-9;
  free(old);
  free(fresh);
  return wrong;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  place(me, npes);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      plate[0][r + 1][c + 1] = start_value(me / columns * kRows + r, me % columns * kColumns + c);
  send_edges(0, 1);
  for (int step = 0; step < kSteps; ++step) {
    wait_for_edges(step + 1);
    compute(step % 2, (step + 1) % 2);
    send_edges((step + 1) % 2, step + 2);
  }
  const int wrong = count_wrong(me);
  if (wrong != 0) fprintf(stderr, "halo_2d: PE %d has %d wrong values\n", me, wrong);
  shmem_barrier_all();
  if (me == 0) printf("halo_2d: %d steps on %d x %d blocks\n", kSteps, rows, columns);
  shmem_finalize();
  return wrong != 0;
}
