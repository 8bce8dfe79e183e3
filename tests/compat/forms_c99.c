/* C99: the typed names, the older include path, a tool's names, and complex numbers. */
#include <complex.h>
#include <mpp/shmem.h>
#include <pshmem.h>
#include <shmemx.h>
#include <stdio.h>

/* A tool stands between the program and the library (10, profiling interface). */
static int puts_seen = 0;
void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {
  ++puts_seen;
  pshmem_int_put(dest, source, nelems, pe);
}

int main(void) {
  int failures = 0, next, word = 5;
  float _Complex *sum;
  int *far;
  start_pes(0);
  next = (_my_pe() + 1) % _num_pes();
  far = shmalloc(sizeof(int));
  *far = 0;
  shmem_barrier_all();
  shmem_int_put(far, &word, 1, next);
  shmem_barrier_all();
  if (*far != 5 || puts_seen != 1) ++failures, printf("put: %d, seen %d times\n", *far, puts_seen);
  sum = shmem_malloc(2 * sizeof(*sum));
  sum[0] = 1.0f + 2.0f * I;
  if (shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, sum + 1, sum, 1) != 0) ++failures;
  if (crealf(sum[1]) != (float)_num_pes() || cimagf(sum[1]) != 2.0f * (float)_num_pes()) ++failures;
  shmem_barrier_all();
  shmem_free(sum);
  shfree(far);
  return failures; /* finalized at exit, as programs of start_pes() are */
}
