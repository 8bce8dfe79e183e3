// Hooks before the real library's objects: their tables of functions, each a copy in which some are
// replaced.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <mutex>
#include <string>

namespace faulty_fabric {

struct Settings {
  bool unordered = false, strict = false, offload = false, nofile = false, busy = false;
};
Settings settings();
void read_settings();  // from the environment

// 0, or what a call of that name shall return.
int failure_of(const char* call);
bool is_cut();
// True for every second call, if it is to be busy.
bool is_busy();
void count_unregistered();

// The real library's demands in mr_mode, whatever this one claims.
int real_memory_mode();

// Puts hooks on what was opened.
int hook_fabric(fid_fabric* fabric);
void count_opened(int by);

}  // namespace faulty_fabric
