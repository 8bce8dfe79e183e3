// How the processes of a job find each other: what nvshmemx_init_attr was told, else the launcher.
#pragma once

#include <string_view>

#include <weft/runtime.hpp>

#include "host/api/nvshmem/names.hpp"

namespace weft::nvshmem {

// A failure that names the routine of NVSHMEM that was called.
Status failure(Code code, std::string_view why, const char* file = __builtin_FILE(),
               int line = __builtin_LINE());

// A unique id that others can reach, whatever host they are on, unless `options` say where.
Options for_other_hosts(Options options);

// Collective over the job. `attr` may be null where the flags ask for nothing of it.
Result<Runtime> meet(unsigned flags, const nvshmemx_init_attr_t* attr, const Options& options);

// Processes of a program that runs already: ranks of *(MPI_Comm*)comm, PEs of OpenSHMEM. Their
// libraries are those that the process has loaded.
Result<Runtime> meet_by_mpi(void* comm, const Options& options);
Result<Runtime> meet_by_shmem(const Options& options);

// The message of PE 0 to all: a unique id, or why there is none.
class Announcement {
 public:
  static constexpr int kBytes = 1024;
  // On PE 0.
  void make(int npes, const Options& options);
  // On all, with what PE 0 had in text().
  Result<Runtime> follow(int pe, int npes, const Options& options);
  char* text() { return text_; }

 private:
  char text_[kBytes] = "";
  Result<UniqueId> id_ = Status::error(Code::kPeerLost, "PE 0 said nothing");
};

}  // namespace weft::nvshmem
