// libweft_perf_cuda.so: the device API in kernels on NVIDIA's GPUs.
#include "perftest/module.hpp"

#include <weft/version.hpp>

#include "perftest/gpu/gpu.hpp"
#include "perftest/gpu/gpus.hpp"

namespace weft::perf::gpu {
namespace {

constexpr std::string_view kBandwidth = "GB/s = size / p50; shape: blocks x threads";
constexpr std::string_view kTime = "p50 = time of one operation";
constexpr std::string_view kBare = "a bare kernel that does the same with loads and stores";

Row of_points(std::string_view name, Kind kind, unsigned uses, std::string_view what) {
  Row row;
  row.name = name;
  row.api = Api::kDevice;
  row.kind = kind;
  row.what = what;
  row.formula = kind == Kind::kBandwidth ? kBandwidth : kTime;
  row.floor = kBare;
  row.min_pes = 1;
  row.uses = kUsesShape | uses;
  row.min = 16;
  row.max = 32u << 20;
  row.run = run_points;
  row.set = "gpu";
  row.gpu = true;
  return row;
}

std::vector<Row> rows_of_points() {
  constexpr Kind kLat = Kind::kLatency, kBw = Kind::kBandwidth;
  return {
      of_points("gpu_put", kBw, kUsesSize,
                "nonblocking puts from PE 0 to PE 1 by all blocks, then quiet"),
      of_points("gpu_get", kBw, kUsesSize, "the same with gets"),
      of_points("gpu_put_quiet", kLat, kUsesSize, "a put that is complete before the next begins"),
      of_points("gpu_signal", kLat, 0,
                "PE 0 and PE 1 set a word of the other's in turn: a round trip"),
      of_points("gpu_put_signal", kLat, kUsesSize,
                "the same with data before the word, for which the whole group waits"),
      of_points("gpu_fetch_add", kLat, 0, "an atomic on PE 1; each waits for the one before"),
      of_points("gpu_barrier", kLat, 0, "barrier of all PEs, by one block each"),
      of_points("gpu_sync", kLat, 0, "sync of all PEs, by one block each"),
      of_points("gpu_fcollect", kLat, kUsesSize, "size bytes of each PE to all"),
      of_points("gpu_reduce", kLat, kUsesSize, "sum over all PEs of 64-bit integers"),
  };
}

Row of_ring(std::string_view name, Kind kind, std::string_view what) {
  Row row;
  row.name = name;
  row.api = Api::kDevice;
  row.kind = kind;
  row.what = what;
  row.formula = "over WEFT_GPU_TRANSPORTS=null,loopback the ring and the proxy alone";
  row.uses = kUsesShape;
  row.run = run_ring;
  row.set = "gpu_ring";
  row.gpu = true;
  return row;
}

Row of_start(std::string_view name, RunStart start, std::string_view what) {
  Row row;
  row.name = name;
  row.api = Api::kDevice;
  row.what = what;
  row.formula = "p50 = time since --since, which this needs; a line from each PE";
  row.min_pes = 1;
  row.uses = kUsesShape;
  row.start = start;
  row.set = name;
  row.gpu = true;
  return row;
}

std::vector<Row> rows() {
  std::vector<Row> all = rows_of_points();
  all.push_back(of_ring("gpu_ring_requests", Kind::kRate,
                        "one-word puts that threads ask for, 8 bytes, complete at the end"));
  all.push_back(of_ring("gpu_ring_put_quiet", Kind::kLatency, "a put and its quiet by one thread"));
  all.push_back(of_ring("gpu_ring_host_put", Kind::kLatency, "the same by a thread of the host"));
  all.push_back(of_ring("gpu_ring_fetch_add", Kind::kLatency, "an atomic that fetches"));
  all.push_back(of_ring("gpu_ring_idle_quiet", Kind::kLatency, "quiet with nothing under way"));
  all.push_back(
      of_start("gpu_start", start_weft, "until a PE's first kernel has put a word to the next PE"));
  all.push_back(of_start("gpu_start_floor", start_floor,
                         "until CUDA without Weft has run a first, empty kernel"));
  return all;
}

std::string cannot_run() {
  const std::string why = no_gpu();
  return why.empty() ? why : "gpu, gpu_ring and gpu_start: " + why;
}

}  // namespace
}  // namespace weft::perf::gpu

extern "C" [[gnu::visibility("default")]] const char* weft_perf_cuda_version() {
  return WEFT_VERSION;
}
extern "C" [[gnu::visibility("default")]] void weft_perf_cuda_module(weft::perf::Module& module) {
  module = {weft::perf::gpu::rows(), weft::perf::gpu::cannot_run, weft::perf::gpu_name};
}
