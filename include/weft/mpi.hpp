// For programs that use MPI: the ranks of a communicator become the PEs of a job. The only header
// that needs MPI's own; the library is not linked with MPI.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <weft/runtime.hpp>

namespace weft {

namespace mpi_detail {

using Clock = std::chrono::steady_clock;

// The most bytes that rank 0 tells all: a unique id, or why there is none.
constexpr int kMostBytes = 1024;

// MPI may write here until its requests are complete, and so it lives until then.
struct Exchange {
  std::vector<std::uint64_t> hosts;
  std::uint64_t host = 0;
  char text[kMostBytes] = "";
};

// The same number on two ranks if MPI gives their hosts the same name (FNV-1a).
inline std::uint64_t host_number() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(name, &length);
  std::uint64_t hash = 14695981039346656037ull;
  for (int i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 1099511628211ull;
  }
  return hash;
}

inline Status wait(MPI_Request request, Clock::time_point deadline, double timeout_s) {
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    if (Clock::now() >= deadline) {
      return Status::error(Code::kTimeout,
                           "not every rank of the communicator came to create_runtime() within " +
                               std::to_string(timeout_s) + " s (WEFT_START_TIMEOUT)");
    }
    std::this_thread::yield();
  }
  return done != 0 ? Status::ok() : Status::error(Code::kIo, "MPI_Test failed");
}

// On rank 0: "+id" or "-why" into `text`. The id must live until all have met.
inline Result<UniqueId> publish(Exchange& exchange, int npes, Options options) {
  bool one_host = true;
  for (const std::uint64_t host : exchange.hosts) one_host = one_host && host == exchange.host;
  if (options.bind_address.empty() && !one_host) options.bind_address = "0.0.0.0";
  auto id = UniqueId::create(npes, options);
  const std::string text = id ? "+" + id->text() : "-" + std::string(id.status().text());
  text.copy(exchange.text, kMostBytes - 1);
  return id;
}

}  // namespace mpi_detail

// Collective over `comm`, an intracommunicator; its rank is the PE. MPI must have been initialised
// and must not be finalised before the runtime is created; it may be afterwards. Nothing is freed
// or kept of `comm`. kTimeout if a rank does not come within options.start_timeout.
// Runtime::abort() ends the Weft job; a program that wants MPI to end too calls MPI_Abort().
inline Result<Runtime> create_runtime(MPI_Comm comm, const Options& options) {
  using namespace mpi_detail;
  const auto patience = std::chrono::duration<double>(options.start_timeout);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  int pe = 0, npes = 0;
  MPI_Comm_rank(comm, &pe);
  MPI_Comm_size(comm, &npes);

  auto exchange = std::make_unique<Exchange>();
  exchange->host = host_number();
  exchange->hosts.resize(static_cast<std::size_t>(npes));
  MPI_Request request;
  MPI_Iallgather(&exchange->host, 1, MPI_UINT64_T, exchange->hosts.data(), 1, MPI_UINT64_T, comm,
                 &request);
  Status met = wait(request, deadline, options.start_timeout);

  Result<UniqueId> id = Status::error(Code::kPeerLost, "rank 0 said nothing");
  if (met.is_ok()) {
    if (pe == 0) id = publish(*exchange, npes, options);
    MPI_Ibcast(exchange->text, kMostBytes, MPI_CHAR, 0, comm, &request);
    met = wait(request, deadline, options.start_timeout);
  }
  if (!met.is_ok()) {
    (void)exchange.release();
    return met;
  }
  const std::string told = exchange->text;
  if (pe == 0 && !id) return id.status();
  if (told.empty() || told[0] != '+') {
    return Status::error(Code::kPeerLost, "rank 0 could not make a place to meet: " + told);
  }
  if (pe != 0) id = UniqueId::parse(told.substr(1));
  if (!id) return id.status();
  return Runtime::create(*id, pe, npes, options);
}

// With the options of the environment.
inline Result<Runtime> create_runtime(MPI_Comm comm) {
  const auto options = Options::from_environment();
  if (!options) return options.status();
  return create_runtime(comm, *options);
}

}  // namespace weft
