#include "perftest/gpu_fused/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include <weft/collective.hpp>
#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "perftest/statistics.hpp"

namespace weft::perf::fused {
namespace {

__device__ unsigned mixed(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Normal numbers from pairs of uniform ones (Box-Muller).
__global__ void fill(std::uint16_t* to, std::size_t count, unsigned seed) {
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (std::size_t i = first; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const unsigned number = mixed(seed) + 2 * static_cast<unsigned>(i);
    const float u = (static_cast<float>(mixed(number)) + 1.0f) * 0x1p-32f;
    const float v = static_cast<float>(mixed(number + 1)) * 0x1p-32f;
    to[i] = Bfloat16(sqrtf(-2.0f * logf(u)) * cospif(2.0f * v)).bits;
  }
}

}  // namespace

Status of(cudaError_t error) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, std::string("CUDA: ") + cudaGetErrorString(error));
}

Status of_nccl(int result) {
  if (result == 0) return Status::ok();
  return Status::error(Code::kInternal, "NCCL failed with " + std::to_string(result));
}

Result<Bench> Bench::create(Runtime& rt, const Settings& settings) {
  Bench made(rt, settings);
  RETURN_IF_ERROR(dev::create_stream(&made.stream_));
  if (!settings.peers.nccl) return made;
  auto nccl = Nccl::create(rt, settings.nccl);
  if (nccl)
    made.nccl_ = *nccl;
  else
    made.print("without NCCL: " + std::string(nccl.status().text()));
  return made;
}

void Bench::print(const std::string& line) const {
  if (rt_->pe() == 0) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Result<Memory> Bench::random(std::size_t count, unsigned seed) const {
  void* data = nullptr;
  RETURN_IF_ERROR(of(cudaMalloc(&data, 2 * std::max<std::size_t>(count, 8))));
  Memory memory(static_cast<std::uint16_t*>(data));
  fill<<<1024, 256, 0, static_cast<cudaStream_t>(stream_)>>>(memory.get(), count, seed);
  RETURN_IF_ERROR(of(cudaGetLastError()));
  return Result<Memory>(std::move(memory));
}

Status Bench::make_windows(std::size_t count) {
  if (!nccl_ || count <= window_count_) return Status::ok();
  for (std::uint16_t** const memory : {&windows_.in, &windows_.out}) {
    void* at = nullptr;
    ASSIGN_OR_RETURN(at, nccl_->window(2 * count));
    *memory = static_cast<std::uint16_t*>(at);
  }
  window_count_ = count;
  return Status::ok();
}

Result<Buffers> Bench::fastest_for_nccl(const Buffers& plain, std::size_t count,
                                        const NcclCall& call) const {
  constexpr int kCalls = 10;
  if (!nccl_ || windows_.in == nullptr) return plain;
  RETURN_IF_ERROR(of(cudaMemcpy(windows_.in, plain.in, 2 * count, cudaMemcpyDeviceToDevice)));
  double on_plain = 0, in_windows = 0;
  ASSIGN_OR_RETURN(on_plain, time_once([&](Stream s) { return call(s, plain); }, kCalls));
  ASSIGN_OR_RETURN(in_windows, time_once([&](Stream s) { return call(s, windows_); }, kCalls));
  return in_windows < on_plain ? windows_ : plain;
}

Result<std::optional<Gemm>> Bench::fastest_cublas(const GemmProblem& problem, std::uint16_t* c,
                                                  const std::uint16_t* a,
                                                  const std::uint16_t* b) const {
  std::optional<Gemm> best;
  if (!settings_->peers.cublas) return std::move(best);
  double least = HUGE_VAL;
  for (int rank = 0; rank < 8; ++rank) {
    weft::kernels::GemmOptions options;
    options.backend = weft::kernels::GemmBackend::kCublas;
    options.tile = std::to_string(rank);
    auto made = Gemm::create(*rt_, problem, options);
    if (!made && rank > 0) break;  // it has no more
    if (!made) return made.status();
    double us = 0;
    ASSIGN_OR_RETURN(us, time_once([&](Stream s) { return (*made)(s, c, a, b); }, 4));
    if (us >= least) continue;
    least = us;
    best.emplace(std::move(*made));
  }
  return std::move(best);
}

Result<double> Bench::time_once(const Call& call, int count) const {
  auto* const native = static_cast<cudaStream_t>(stream_);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  RETURN_IF_ERROR(of(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal)));
  Status status;
  for (int i = 0; i < count && status.is_ok(); ++i) status = call(stream_);
  RETURN_IF_ERROR(of(cudaStreamEndCapture(native, &graph)));
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(of(cudaGraphInstantiate(&ready, graph, 0)));
  RETURN_IF_ERROR(of(cudaGraphUpload(ready, native)));
  RETURN_IF_ERROR(of(cudaEventCreate(&begin)));
  RETURN_IF_ERROR(of(cudaEventCreate(&end)));
  RETURN_IF_ERROR(of(cudaStreamSynchronize(native)));
  std::this_thread::sleep_for(std::chrono::milliseconds(settings_->pause_ms));  // cools the GPU
  RETURN_IF_ERROR(rt_->barrier());
  RETURN_IF_ERROR(of(cudaGraphLaunch(ready, native)));  // warms up
  RETURN_IF_ERROR(of(cudaEventRecord(begin, native)));
  RETURN_IF_ERROR(of(cudaGraphLaunch(ready, native)));
  RETURN_IF_ERROR(of(cudaEventRecord(end, native)));
  RETURN_IF_ERROR(of(cudaEventSynchronize(end)));
  float ms = 0;
  RETURN_IF_ERROR(of(cudaEventElapsedTime(&ms, begin, end)));
  RETURN_IF_ERROR(of(cudaEventDestroy(begin)));
  RETURN_IF_ERROR(of(cudaEventDestroy(end)));
  RETURN_IF_ERROR(of(cudaGraphExecDestroy(ready)));
  RETURN_IF_ERROR(of(cudaGraphDestroy(graph)));
  // Everybody's, so that all see the same.
  double us = 1e3 * ms / count;
  double* all = nullptr;
  ASSIGN_OR_RETURN(all, rt_->allocate<double>(1 + static_cast<std::size_t>(rt_->npes())));
  all[0] = us;
  status = fcollect_bytes(rt_->context(), rt_->world(), all + 1, all, sizeof us);
  us = *std::max_element(all + 1, all + 1 + rt_->npes());
  if (status.is_ok()) status = rt_->barrier();
  RETURN_IF_ERROR(rt_->free(all));
  RETURN_IF_ERROR(status);
  return us;
}

Result<std::vector<double>> Bench::time(const std::vector<Call>& calls) const {
  std::vector<std::vector<double>> us(calls.size());
  std::vector<int> counts;
  for (const Call& call : calls) {  // graphs of some 6 ms
    double once = 0;
    if (call) {
      ASSIGN_OR_RETURN(once, time_once(call, 2));
    }
    counts.push_back(std::clamp(static_cast<int>(6000 / std::max(once, 1.0)), 2, 100));
  }
  for (int round = 0; round < settings_->rounds; ++round)
    for (std::size_t i = 0; i < calls.size(); ++i) {
      double once = 0;
      if (calls[i]) {
        ASSIGN_OR_RETURN(once, time_once(calls[i], counts[i]));
      }
      us[i].push_back(once);
    }
  std::vector<double> medians;
  for (std::vector<double>& each : us) medians.push_back(summarize(std::move(each)).p50);
  return medians;
}

Status Bench::measure(const Shape& shape, const Row& row) const {
  std::vector<double> us;
  ASSIGN_OR_RETURN(us, time({row.fused, row.both, row.alone, row.cublas, row.nccl, row.in_turn}));
  const double product = row.cublas ? std::min(us[2], us[3]) : us[2];
  if (row.both) {
    RETURN_IF_ERROR(row.both(stream_));
    RETURN_IF_ERROR(row.fused(stream_));
    RETURN_IF_ERROR(check(shape, row));
  }
  char in_turn[32] = "", line[512];
  if (row.in_turn) std::snprintf(in_turn, sizeof in_turn, "%8.1f ", us[5]);
  std::snprintf(line, sizeof line,
                "%-15s %6d %6d %6d | %8.1f %8.1f %8.1f %8.1f | %s%8.1f | %6.3f %6.3f | %s",
                shape.name, shape.m, shape.n, shape.k, us[2], us[3], us[4], us[1], in_turn, us[0],
                us[1] / us[0], std::max(product, us[4]) / us[0], row.plan.c_str());
  print(line);
  return rt_->health();
}

Status Bench::measure_all(const std::string& title, const std::string& own_columns,
                          const std::vector<Shape>& shapes,
                          const std::function<std::size_t(const Shape&)>& moved,
                          const std::function<Status(const Shape&)>& row) {
  const std::vector<Shape>& all = settings_->shapes.empty() ? shapes : settings_->shapes;
  std::size_t most = 0;
  for (const Shape& shape : all) most = std::max(most, moved(shape));
  RETURN_IF_ERROR(make_windows(most));
  print(
      "speedup: both after another / fused; efficiency: max(min(Gemm alone, cuBLASLt), NCCL) / "
      "fused");
  print(title +
        ", us              M      N      K |  Gemm alone cuBLASLt NCCL, both after another | " +
        own_columns + " | speedup, efficiency | plan");
  for (const Shape& shape : all) RETURN_IF_ERROR(row(shape));
  return rt_->barrier();
}

}  // namespace weft::perf::fused
