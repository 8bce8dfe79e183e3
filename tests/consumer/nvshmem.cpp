// An NVSHMEM program that knows Weft only from where it was installed, and maybe only by NVSHMEM's
// names.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>

int main() {
  nvshmem_init();
  const int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  auto* const word = static_cast<int*>(nvshmem_calloc(1, sizeof(int)));
  nvshmem_int_p(word, 42, right);
  nvshmem_barrier_all();
  const bool arrived = nvshmem_int_g(word, nvshmem_my_pe()) == 42;
  nvshmem_free(word);
  nvshmem_finalize();
  if (!arrived) std::printf("the put did not arrive\n");
  return arrived ? 0 : 1;
}
