// A token goes round a ring of PEs; each adds its number.
#include <shmem.h>
#include <stdio.h>

enum { kRounds = 10 };

// Static variables are symmetric: the same name is one object on every PE.
static long token = -1;
static long turn = 0;  // the round whose token is here

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  const int next = (me + 1) % npes;
  for (long round = 1; round <= kRounds; ++round) {
    if (me == 0) {  // starts the round, and sees it come back
      shmem_long_p(&token, round == 1 ? 0 : token, next);
      shmem_fence();  // the token is there before the turn
      shmem_long_p(&turn, round, next);
      shmem_quiet();  // nobody is left waiting for a put that is on its way
      shmem_long_wait_until(&turn, SHMEM_CMP_GE, round);
    } else {
      shmem_long_wait_until(&turn, SHMEM_CMP_GE, round);
      shmem_long_p(&token, token + me, next);
      shmem_fence();
      shmem_long_p(&turn, round, next);
      shmem_quiet();
    }
  }
  int wrong = 0;
  if (me == 0) {
    const long expected = (long)kRounds * npes * (npes - 1) / 2;
    wrong = token != expected;
    printf("ring: %d rounds of %d PEs, the token is %ld\n", kRounds, npes, token);
    if (wrong) fprintf(stderr, "ring: it should be %ld\n", expected);
  }
  shmem_barrier_all();
  shmem_finalize();
  return wrong;
}
