// libweft_perf_kernels.so: operators of weft::kernels on GPUs, where CUDA was built, and the tuning
// of their plans.
#include "perftest/module.hpp"

#include <weft/version.hpp>

#include "perftest/gpu/gpus.hpp"
#include "perftest/operators/operators.hpp"

namespace weft::perf {
namespace {

void add(std::vector<Row>& all, const std::vector<Row>& rows) {
  all.insert(all.end(), rows.begin(), rows.end());
}

#ifdef WEFT_PERF_HAS_CUDA
void add_operators(std::vector<Row>& all) {
  add(all, collective_rows());
  add(all, gemm_rows());
  add(all, fused_rows());
}

std::string cannot_run() {
  const std::string why = no_gpu();
  return why.empty() ? why : "collectives, gemm and fused: " + why;
}
constexpr auto kGpuName = gpu_name;
#else
void add_operators(std::vector<Row>&) {}

std::string cannot_run() {
  return "collectives, gemm and fused: this build has no CUDA (-DWEFT_CUDA=ON)";
}
constexpr std::string (*kGpuName)(int) = nullptr;
#endif

}  // namespace
}  // namespace weft::perf

extern "C" [[gnu::visibility("default")]] const char* weft_perf_kernels_version() {
  return WEFT_VERSION;
}
extern "C" [[gnu::visibility("default")]] void weft_perf_kernels_module(
    weft::perf::Module& module) {
  module = {{}, weft::perf::cannot_run, weft::perf::kGpuName};
  weft::perf::add_operators(module.rows);
  weft::perf::add(module.rows, weft::perf::tune_rows());
}
