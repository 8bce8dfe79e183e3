// libmpi, found at run time: that of the program, or one of the system.
#pragma once

#include <string>

#include <weft/options.hpp>
#include <weft/result.hpp>

namespace weft {

// This process has initialised MPI and not finalised it. Loads nothing.
bool mpi_is_running();

// "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)". `mpich`: as for make_mpi_launcher().
Result<std::string> describe_mpi(const Options& options, bool mpich);

}  // namespace weft
