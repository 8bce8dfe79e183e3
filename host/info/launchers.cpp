#include <fmt/format.h>

#include "bootstrap/choose.hpp"
#include "bootstrap/mpi/mpi.hpp"
#include "bootstrap/pmi/pmix.hpp"
#include "host/info/sections.hpp"

namespace weft::info {
namespace {

Line library(const char* name, const Result<std::string>& described) {
  if (described.is_ok()) return there(name, *described);
  // The text of the failure says what to do.
  return missing(name, std::string(described.status().text()));
}

Line unique_id(const Options& options) {
  if (options.unique_id.empty()) {
    return missing("tcp", "WEFT_UNIQUE_ID is not set", "start the program with weft-run -n N");
  }
  return there("tcp", fmt::format("WEFT_UNIQUE_ID is set; PE {} of {}", options.pe, options.npes));
}

Line pmi(const Surroundings& around) {
  const std::string fd = around.variable("PMI_FD");
  if (fd.empty()) {
    return missing("pmi", "PMI_FD is not set",
                   "start the program with MPICH's mpiexec, or srun --mpi=pmi2");
  }
  if (!around.pmi_socket) {
    return missing("pmi", fmt::format("PMI_FD is {}, which is no open socket", fd),
                   "let the launcher start the program itself");
  }
  return there("pmi", fmt::format("PMI_FD is {}, an open socket; rank {} of {}", fd,
                                  around.variable("PMI_RANK"), around.variable("PMI_SIZE")));
}

Line pmix_server(const Surroundings& around) {
  const std::string name_space = around.variable("PMIX_NAMESPACE");
  if (name_space.empty()) {
    return missing("pmix", "PMIX_NAMESPACE is not set",
                   "start the program with Open MPI's mpirun, or srun --mpi=pmix");
  }
  return there("pmix",
               fmt::format("rank {} of namespace {}", around.variable("PMIX_RANK"), name_space));
}

Line chosen(const Options& options, const Surroundings& around) {
  const auto choice = choose(options, around);
  if (!choice.is_ok()) return missing("bootstrap", std::string(choice.status().text()));
  return there("bootstrap", fmt::format("{}: {}", to_string(choice->kind), choice->why));
}

}  // namespace

Section launchers_section(const Options& options) {
  const Surroundings around = look_around();
  const bool mpich = !around.variable("PMI_FD").empty();
  return {"launchers",
          {chosen(options, around), unique_id(options), pmi(around), pmix_server(around),
           library("pmix library", pmix::describe(options)),
           library("mpi library", describe_mpi(options, mpich))}};
}

}  // namespace weft::info
