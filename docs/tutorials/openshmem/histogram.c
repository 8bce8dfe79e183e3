// Keys of all PEs are counted in buckets that are spread over the PEs: one atomic for each key.
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

enum { kKeys = 20000, kBuckets = 64 };  // of a PE

// Key number i of a PE: the same wherever it is asked for.
static uint64_t key(int pe, int i) {
  uint64_t x = ((uint64_t)pe << 32) + (uint64_t)i + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  const uint64_t all_buckets = (uint64_t)kBuckets * (uint64_t)npes;
  long* const counts = shmem_calloc(kBuckets, sizeof(long));
  if (counts == NULL) {
    fprintf(stderr, "histogram: no memory\n");
    shmem_global_exit(2);
  }
  shmem_barrier_all();  // everybody's are zero
  for (int i = 0; i < kKeys; ++i) {
    const uint64_t bucket = key(me, i) % all_buckets;
    shmem_long_atomic_inc(&counts[bucket % kBuckets], (int)(bucket / kBuckets));
  }
  shmem_barrier_all();  // completes the atomics, too

  long expected[kBuckets] = {0};  // of my buckets
  for (int pe = 0; pe < npes; ++pe)
    for (int i = 0; i < kKeys; ++i) {
      const uint64_t bucket = key(pe, i) % all_buckets;
      if ((int)(bucket / kBuckets) == me) ++expected[bucket % kBuckets];
    }
  int wrong = 0;
  for (int b = 0; b < kBuckets; ++b) wrong += counts[b] != expected[b];
  if (wrong != 0) fprintf(stderr, "histogram: PE %d has %d wrong buckets\n", me, wrong);
  if (me == 0)
    printf("histogram: %d keys on each of %d PEs, %d in bucket 0\n", kKeys, npes, (int)counts[0]);
  shmem_barrier_all();
  shmem_free(counts);
  shmem_finalize();
  return wrong != 0;
}
