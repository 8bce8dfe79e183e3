// Beside OpenSHMEM, or MPI (BESIDE_MPI): its PEs, or ranks, are NVSHMEM's.
#ifdef BESIDE_MPI
#include <mpi.h>
#else
#include <shmem.h>
#endif

#include "tests/compat/nvshmem/host_check.hpp"

namespace {

int start(nvshmemx_init_attr_t* attributes) {
#ifdef BESIDE_MPI
  static MPI_Comm backwards;
  int rank = 0;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
  attributes->mpi_comm = &backwards;
  return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, attributes);
#else
  shmem_init();
  return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, attributes);
#endif
}

int wanted_pe() {
#ifdef BESIDE_MPI
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size - 1 - rank;
#else
  return shmem_my_pe();
#endif
}

void end() {
#ifdef BESIDE_MPI
  MPI_Finalize();
#else
  shmem_finalize();
#endif
}

}  // namespace

int main() {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (start(&attributes) != 0) return 2;
  CHECK(nvshmem_my_pe() == wanted_pe());
  int* const word = symmetric<int>(1);
  nvshmem_int_p(word, 7 + nvshmem_my_pe(), right());
  nvshmem_barrier_all();
  CHECK(read(word, 1)[0] == 7 + left());
  nvshmem_free(word);
  nvshmem_finalize();
  end();
  return exit_status();
}
