// How the programs of NVSHMEM's names start: by a unique id that travels through the file where the
// processes meet.
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include "perftest/peers/peer.hpp"

namespace weft::perf::gpu {

using Job = Peer<nvshmemx_uniqueid_t>;

inline void start(const Job& job) {
  nvshmemx_uniqueid_t id = job.id([](nvshmemx_uniqueid_t* made) {
    *made = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (nvshmemx_get_uniqueid(made) != 0) fail("nvshmemx_get_uniqueid failed");
  });
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (nvshmemx_set_attr_uniqueid_args(job.pe, job.npes, &id, &attributes) != 0)
    fail("nvshmemx_set_attr_uniqueid_args failed");
  if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
    fail("nvshmemx_init_attr failed");
}

}  // namespace weft::perf::gpu
