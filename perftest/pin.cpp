#include "perftest/pin.hpp"

#include <pthread.h>

namespace weft::perf {

int own_core(const Job& job) {
  const Team& node = job.runtime().node();
  cpu_set_t allowed;
  if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) return -1;
  if (CPU_COUNT(&allowed) < node.size) return -1;
  int left = node.rank;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && left-- == 0) return core;
  return -1;
}

Pin::Pin(const Job& job, bool wanted) {
  const int core = wanted ? own_core(job) : -1;
  if (core < 0 || pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) != 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pinned_ = pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

Pin::~Pin() {
  if (pinned_) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
}

}  // namespace weft::perf
