// All work begins on PE 0; who has none takes from others. A task is taken by one atomic; the
// record, which is three words, is kept together by a lock.
#include <shmem.h>
#include <stdio.h>

enum { kTasks = 400 };

// PE p's own queue: the tasks [taken, kTasks) are left. Only PE 0's has any in the beginning.
static long taken = kTasks;
// On PE 0.
static long lock = 0;
static struct { long steps, start, tasks; } record;

// How often n must be halved, or tripled and increased, until it is 1.
static long steps_from(long n) {
  long steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

static void report(long start, long steps) {
  shmem_set_lock(&lock);
  long known[3];
  shmem_getmem(known, &record, sizeof(known), 0);
  if (steps > known[0] || (steps == known[0] && start < known[1])) {
    known[0] = steps;
    known[1] = start;
  }
  ++known[2];
  shmem_putmem(&record, known, sizeof(known), 0);
  shmem_clear_lock(&lock);  // completes the put before the next one comes in
}

// The next task of `victim`; -1: it has none.
static long take(int victim) {
  if (shmem_long_atomic_fetch(&taken, victim) >= kTasks) return -1;
  const long task = shmem_long_atomic_fetch_inc(&taken, victim);
  return task < kTasks ? task : -1;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  if (me == 0) taken = 0;
  shmem_barrier_all();
  long mine = 0;
  for (int k = 0; k < npes;) {  // my own queue first, then my neighbours'
    const long task = take((me + k) % npes);
    if (task < 0) {
      ++k;
      continue;
    }
    report(task + 1, steps_from(task + 1));
    ++mine;
  }
  shmem_barrier_all();
  int wrong = 0;
  if (me == 0) {
    long start = 1;
    for (long n = 2; n <= kTasks; ++n)
      if (steps_from(n) > steps_from(start)) start = n;
    wrong = record.tasks != kTasks || record.start != start || record.steps != steps_from(start);
    printf(
        "work_stealing: %ld tasks by %d PEs, %ld by PE 0; the longest begins at %ld: %ld steps\n",
        record.tasks, npes, mine, record.start, record.steps);
    if (wrong) fprintf(stderr, "work_stealing: it should begin at %ld\n", start);
  }
  shmem_finalize();
  return wrong;
}
