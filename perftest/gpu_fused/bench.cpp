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

Result<Bench> Bench::create(Job& job, Reporter& out) {
  Bench made(job, out);
  RETURN_IF_ERROR(dev::create_stream(&made.stream_));
  if (!made.options_->baselines.nccl) return made;
  auto nccl = Nccl::create(job.runtime(), made.options_->nccl);
  if (nccl)
    made.nccl_ = *nccl;
  else if (job.pe() == 0)
    std::fprintf(stderr, "without NCCL: %s\n", nccl.status().text());
  return made;
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
  if (!options_->baselines.cublas) return std::move(best);
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
  std::this_thread::sleep_for(std::chrono::milliseconds(options_->pause_ms));  // cools the GPU
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

Result<std::vector<Summary>> Bench::time(const std::vector<Call>& calls) const {
  std::vector<std::vector<double>> ns(calls.size());
  std::vector<int> counts;
  for (const Call& call : calls) {  // graphs of some 6 ms
    double once = 0;
    if (call) {
      ASSIGN_OR_RETURN(once, time_once(call, 2));
    }
    counts.push_back(std::clamp(static_cast<int>(6000 / std::max(once, 1.0)), 2, 100));
  }
  for (int round = 0; round < options_->rounds; ++round)
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i]) continue;
      double once = 0;
      ASSIGN_OR_RETURN(once, time_once(calls[i], counts[i]));
      ns[i].push_back(1e3 * once);
    }
  std::vector<Summary> summaries;
  for (std::vector<double>& each : ns) summaries.push_back(summarize(std::move(each)));
  return summaries;
}

Status Bench::measure(const Row& row, const Shape& shape, const Calls& calls) const {
  std::vector<Summary> ns;
  ASSIGN_OR_RETURN(
      ns, time({calls.fused, calls.both, calls.alone, calls.cublas, calls.nccl, calls.in_turn}));
  if (calls.both) {
    RETURN_IF_ERROR(calls.both(stream_));
    RETURN_IF_ERROR(calls.fused(stream_));
    RETURN_IF_ERROR(check(shape, calls));
  }
  const double alone = ns[2].p50, cublas = ns[3].p50, nccl = ns[4].p50;
  const double product = calls.cublas ? std::min(alone, cublas) : alone;
  Line line;
  line.row = &row;
  line.point.type = find_type(row.type);
  line.layer = shape.name;
  line.shape =
      std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k);
  line.plan = calls.plan;
  line.efficiency = std::max(product, nccl) / ns[0].p50;
  line.baseline = "in turn";
  line.measured.iters = ns[0].samples;
  line.measured.time = ns[0];
  line.measured.floor = ns[1];
  if (line.has_baseline()) line.measured.ratio = ns[0].p50 / ns[1].p50;
  line.others = {{"Gemm alone", alone}};
  if (calls.cublas) line.others.push_back({"cuBLASLt", cublas});
  if (calls.nccl) line.others.push_back({"NCCL", nccl});
  if (calls.in_turn) line.others.push_back({"Weft's in turn", ns[5].p50});
  out_->add(line);
  return rt_->health();
}

Status Bench::measure_all(const Row& row, const std::vector<Shape>& shapes,
                          const std::function<std::size_t(const Shape&)>& moved,
                          const std::function<Status(const Shape&)>& line) {
  std::vector<Shape> all;
  for (const perf::Shape& shape : options_->shapes) all.push_back({"", shape.m, shape.n, shape.k});
  if (all.empty()) all = shapes;
  std::size_t most = 0;
  for (const Shape& shape : all) most = std::max(most, moved(shape));
  RETURN_IF_ERROR(make_windows(most));
  out_->start(row);
  for (const Shape& shape : all) RETURN_IF_ERROR(line(shape));
  out_->finish(row);
  return rt_->barrier();
}

}  // namespace weft::perf::fused
