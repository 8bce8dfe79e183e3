// The functions that the real library exports.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/support/faulty_fabric/hooks.hpp"

namespace faulty_fabric {

namespace {

// When this library is loaded, as what is linked would be.
void* const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);

template <class Function>
Function* real(const char* name) {
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "faulty_fabric: no %s in libfabric.so.1\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(symbol);
}

std::atomic<int> memory_mode{0};

void change(fi_info& info) {
  if (settings().unordered) info.tx_attr->msg_order = info.rx_attr->msg_order = 0;
  if (settings().offload) info.domain_attr->data_progress = FI_PROGRESS_AUTO;
  memory_mode = info.domain_attr->mr_mode;
  if (settings().strict)
    info.domain_attr->mr_mode |= FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
}

}  // namespace

int real_memory_mode() { return memory_mode; }

}  // namespace faulty_fabric

using namespace faulty_fabric;

extern "C" {

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
               const fi_info* hints, fi_info** info) {
  read_settings();
  if (const int failed = failure_of("fi_getinfo"); failed != 0) return failed;
  const int result =
      real<decltype(fi_getinfo)>("fi_getinfo")(version, node, service, flags, hints, info);
  if (result != 0) return result;
  for (fi_info* each = *info; each != nullptr; each = each->next) change(*each);
  return 0;
}
void fi_freeinfo(fi_info* info) { real<decltype(fi_freeinfo)>("fi_freeinfo")(info); }
fi_info* fi_dupinfo(const fi_info* info) { return real<decltype(fi_dupinfo)>("fi_dupinfo")(info); }
int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  if (const int failed = failure_of("fi_fabric"); failed != 0) return failed;
  const int result = real<decltype(fi_fabric)>("fi_fabric")(attributes, fabric, context);
  return result != 0 ? result : hook_fabric(*fabric);
}
std::uint32_t fi_version() { return real<decltype(fi_version)>("fi_version")(); }
const char* fi_strerror(int error) { return real<decltype(fi_strerror)>("fi_strerror")(error); }

}  // extern "C"
