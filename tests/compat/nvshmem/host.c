/* NVSHMEM from C. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

int main(void) {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  int *word, got = 0, right;
  if (nvshmemx_init_attr(0, &attributes) != 0) return 2;
  right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  word = (int*)nvshmem_calloc(1, sizeof(int));
  nvshmem_int_p(word, 42, right);
  nvshmem_barrier_all();
  nvshmem_int_get(&got, word, 1, nvshmem_my_pe());
  nvshmem_sync(NVSHMEM_TEAM_WORLD);
  nvshmem_free(word);
  nvshmem_finalize();
  if (got != 42) printf("the put did not arrive\n");
  return got != 42;
}
