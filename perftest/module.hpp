// Modules: shared libraries that add rows to the registry. libweft_perf_cuda.so has the device API
// on NVIDIA's GPUs, libweft_perf_kernels.so the operators of weft::kernels and their tuning.
// weft-perf opens them when a name on its command line is none of its own rows: those start as fast
// as without, and where there is no CUDA.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perftest/registry.hpp"

namespace weft::perf {

// The contents of a module. It exports two functions with C names, NAME being that of
// libweft_perf_NAME.so: `const char* weft_perf_NAME_version()`, which is WEFT_VERSION, and `void
// weft_perf_NAME_module(Module&)`.
struct Module {
  std::vector<Row> rows;
  // Why some rows cannot run on this machine; "" if all can. `list` alone asks, since it opens the
  // GPUs' driver.
  std::string (*cannot_run)() = nullptr;
  std::string (*gpu_name)(int gpu) = nullptr;  // null without CUDA
};

struct Modules {
  std::vector<Module> found;
  std::vector<std::string> missing;  // a sentence for each that is not there

  std::vector<Row> rows() const;
  std::string notes() const;  // lines for `list`: what cannot run here, and why
};

// Looks in `folders`, in this order, and opens one module after the other until there are enough
// rows: what starting costs is measured, too.
Modules open_modules(const std::vector<std::string>& folders,
                     const std::function<bool(const std::vector<Row>&)>& are_enough);

// Where the build and the installation of this program have them.
std::vector<std::string> module_folders();

}  // namespace weft::perf
