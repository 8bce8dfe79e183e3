// The ranks of an MPI communicator, without MPI's headers. Two families of libraries differ in what
// a handle is: Open MPI has addresses of its own objects, MPICH and its kin have numbers.
#include <dlfcn.h>

#include <fmt/format.h>

#include "host/api/nvshmem/meet.hpp"

namespace weft::nvshmem {
namespace {

// In the process already: the program's own, or one that Python has loaded for itself.
void* loaded_mpi() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Bcast") != nullptr) return RTLD_DEFAULT;
  for (const char* name : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"})
    if (void* const library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Status check(int result, const char* call) {
  if (result == 0) return Status::ok();
  return failure(Code::kIo, fmt::format("MPI_{} failed with error {}", call, result));
}

template <class Handle>
Result<Runtime> meet_ranks(void* library, Handle comm, Handle byte, const Options& options) {
  int (*rank_of)(Handle, int*) = nullptr;
  int (*size_of)(Handle, int*) = nullptr;
  int (*broadcast)(void*, int, Handle, int, Handle) = nullptr;
  if (!find(library, "MPI_Comm_rank", rank_of) || !find(library, "MPI_Comm_size", size_of) ||
      !find(library, "MPI_Bcast", broadcast))
    return failure(Code::kUnsupported, "the MPI library lacks a routine of MPI 1");
  int pe = 0, npes = 0;
  if (Status done = check(rank_of(comm, &pe), "Comm_rank"); !done) return done;
  if (Status done = check(size_of(comm, &npes), "Comm_size"); !done) return done;
  Announcement news;
  if (pe == 0) news.make(npes, options);
  Status told = check(broadcast(news.text(), Announcement::kBytes, byte, 0, comm), "Bcast");
  if (!told) return told;
  return news.follow(pe, npes, options);
}

}  // namespace

Result<Runtime> meet_by_mpi(void* comm, const Options& options) {
  if (comm == nullptr)
    return failure(Code::kInvalidArgument,
                   "NVSHMEMX_INIT_WITH_MPI_COMM asks for the address of a communicator in "
                   "attributes->mpi_comm, and that is null");
  void* const library = loaded_mpi();
  int (*initialized)(int*) = nullptr;
  int is_running = 0;
  if (!find(library, "MPI_Initialized", initialized) || initialized(&is_running) != 0 ||
      is_running == 0)
    return failure(Code::kInvalidArgument,
                   "NVSHMEMX_INIT_WITH_MPI_COMM is for programs that use MPI, after "
                   "MPI_Init; this process has not initialised it");
  void* open_mpi_byte = nullptr;
  if (find(library, "ompi_mpi_byte", open_mpi_byte))
    return meet_ranks(library, *static_cast<void**>(comm), open_mpi_byte, options);
  constexpr int kMpichByte = 0x4c00010d;
  return meet_ranks(library, *static_cast<int*>(comm), kMpichByte, options);
}

}  // namespace weft::nvshmem
