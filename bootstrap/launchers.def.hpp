// The launchers that a process finds by itself, a row each, the nearest first: the program's own
// MPI, the socket that the last launcher left open, and then variables, which outlive their
// launcher.
//
//   WEFT_LAUNCHER(kind, name, variables)
//
// A row declares found_NAME(), check_NAME() and open_NAME() (launchers.hpp), which a file
// launcher_NAME.cpp beside this one defines; CMake finds it. `variables`: those of the environment
// that these read, apart by blanks.

WEFT_LAUNCHER(kMpi, mpi, "PMI_FD")
WEFT_LAUNCHER(kPmi2, pmi2, "PMI_FD PMI_RANK PMI_JOBID SLURM_JOB_ID")
WEFT_LAUNCHER(kPmi1, pmi1, "PMI_FD PMI_RANK PMI_SIZE")
WEFT_LAUNCHER(kPmix, pmix, "PMIX_NAMESPACE PMIX_RANK")

#undef WEFT_LAUNCHER
