// The time that NCCL takes to start: from NS (`date +%s%N`) until a first kernel, which sums a word
// over all processes, has ended on this one. Each prints its line. FILE, a new one for each job, is
// where they meet.
//
//   weft-run -n 8 nccl_gpu --meet FILE --start-up NS
#include <nccl.h>

#include <cstdlib>
#include <cstring>

#include "perftest/peers/peer.hpp"

using namespace weft::perf::gpu;

namespace {

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail(std::string(what) + ": " + ncclGetErrorString(result));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "--meet") != 0 || std::strcmp(argv[3], "--start-up") != 0) {
    std::fprintf(stderr, "usage: weft-run -n N nccl_gpu --meet FILE --start-up NS\n");
    return 2;
  }
  const Peer<ncclUniqueId> job(argv[2]);
  const ncclUniqueId id =
      job.id([](ncclUniqueId* made) { check(ncclGetUniqueId(made), "ncclGetUniqueId"); });
  ncclComm_t all = nullptr;
  check(ncclCommInitRank(&all, job.npes, id, job.pe), "ncclCommInitRank");
  std::uint64_t* word = nullptr;
  check(cudaMalloc(&word, sizeof(*word)), "cudaMalloc");
  check(ncclAllReduce(word, word, 1, ncclUint64, ncclSum, all, nullptr), "ncclAllReduce");
  check(cudaDeviceSynchronize(), "the first kernel");
  print_start_up("nccl", job.npes, "processes", std::atoll(argv[4]));
  check(ncclCommDestroy(all), "ncclCommDestroy");
  return 0;
}
