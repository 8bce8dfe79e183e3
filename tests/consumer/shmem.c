/* An OpenSHMEM program in C that knows Weft only from where it was installed. */
#include <shmem.h>
#include <stdio.h>

int main(void) {
  int *word, next, right;
  shmem_init();
  next = (shmem_my_pe() + 1) % shmem_n_pes();
  word = (int*)shmem_calloc(1, sizeof(int));
  shmem_int_p(word, 42, next);
  shmem_barrier_all();
  right = *word == 42;
  shmem_free(word);
  shmem_finalize();
  if (!right) printf("the put did not arrive\n");
  return !right;
}
