// weft-gpu-gemm: the matrix product of weft::kernels beside cuBLASLt, on one GPU.
//
//   weft-gpu-gemm [--tiles | --tile NAME] [--fp16] [--rounds N] [--pause MS] [M N K]...
//
// Both multiply the same random normal numbers, in turns, as CUDA graphs of some milliseconds;
// operands rotate where they would stay in the cache. Of cuBLASLt it is the fastest of the
// algorithms that its heuristics name. A pause before each graph lets the GPU cool, so that neither
// runs on what the other has left of its power. Rates count 2 * M * N * K operations; a ratio is
// cuBLASLt's time over Weft's.
// --tiles runs every tile of Weft's, for the table in kernels/gemm/plan.hpp; --tile the one of that
// name, as "sm80/128x128".
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "perftest/statistics.hpp"
#include "perftest/status.hpp"

namespace weft::perf {
namespace {

using kernels::DType;
using kernels::Gemm;
using kernels::GemmBackend;
using kernels::GemmOptions;
using kernels::GemmProblem;

struct Shape {
  int m, n, k;
};
// What a rank of 8 multiplies in tensor-parallel layers (LLaMA, Qwen, GPT-3): before a
// reduce-scatter and behind an all-gather; then few rows, as in decoding.
const std::vector<Shape> kLarge = {{8192, 3584, 8192},  {8192, 8192, 3584}, {8192, 6144, 12288},
                                   {8192, 12288, 6144}, {4096, 1280, 5120}, {8192, 1376, 4096},
                                   {8192, 4096, 1376},  {8192, 1792, 4096}, {8192, 4096, 1792},
                                   {2048, 6400, 5120},  {4096, 6400, 5120}, {2048, 5120, 3200},
                                   {4096, 5120, 3200},  {4096, 5120, 1024}, {8192, 8192, 8192}};
const std::vector<Shape> kSmall = {
    {1, 5120, 3200},   {16, 5120, 3200}, {64, 5120, 3200}, {128, 5120, 3200}, {256, 5120, 3200},
    {512, 5120, 3200}, {1, 5120, 1024},  {16, 5120, 1024}, {64, 5120, 1024},  {128, 5120, 1024},
    {16, 6400, 5120},  {16, 1280, 5120}, {64, 1280, 5120}, {128, 1280, 5120}, {64, 1024, 8192}};
const char* const kTiles[] = {"64x64",   "128x64",  "128x80",  "128x96",  "128x128",
                              "128x160", "128x192", "128x224", "128x256", "256x160",
                              "256x176", "64x64/k", "128x64/k"};

struct Settings {
  bool tiles = false;
  std::string tile{};  // "": the plan's
  DType dtype = DType::kBfloat16;
  int rounds = 5;
  int pause_ms = 20;
  std::vector<Shape> shapes;
};

Status check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, std::string(what) + ": " + cudaGetErrorString(error));
}
#define CUDA_OR_RETURN(call) RETURN_IF_ERROR(check(call, #call))

__device__ unsigned mixed(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Normal numbers from pairs of uniform ones (Box-Muller).
__global__ void fill(unsigned short* to, std::size_t count, unsigned seed, bool is_bfloat16) {
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (std::size_t i = first; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const unsigned number = mixed(seed) + 2 * static_cast<unsigned>(i);
    const float u = (static_cast<float>(mixed(number)) + 1.0f) * 0x1p-32f;
    const float v = static_cast<float>(mixed(number + 1)) * 0x1p-32f;
    const float value = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
    to[i] = is_bfloat16 ? Bfloat16(value).bits : Half(value).bits;
  }
}

// Memory of the GPU that frees itself.
struct Free {
  void operator()(unsigned short* data) const { (void)cudaFree(data); }
};
using Memory = std::unique_ptr<unsigned short, Free>;

Result<Memory> allocate(std::size_t count, unsigned seed, DType dtype, cudaStream_t stream) {
  void* data = nullptr;
  CUDA_OR_RETURN(cudaMalloc(&data, 2 * count));
  Memory memory(static_cast<unsigned short*>(data));
  fill<<<1024, 256, 0, stream>>>(memory.get(), count, seed, dtype == DType::kBfloat16);
  CUDA_OR_RETURN(cudaGetLastError());
  return Result<Memory>(std::move(memory));
}

struct Operands {
  Memory a, b, c;
};

class Bench {
 public:
  Bench(Runtime& runtime, const Settings& settings) : runtime_(runtime), settings_(settings) {}

  Status start() {
    CUDA_OR_RETURN(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OR_RETURN(cudaEventCreate(&begin_));
    return check(cudaEventCreate(&end_), "cudaEventCreate");
  }

  // Prints a line, and gives the ratio; with --tiles a line for each.
  Result<double> measure(const Shape& shape) {
    problem_ = GemmProblem{shape.m, shape.n, shape.k, settings_.dtype};
    RETURN_IF_ERROR(fill_operands(shape));
    Gemm* cublas = nullptr;
    std::vector<Gemm> algorithms;
    RETURN_IF_ERROR(find_cublas(algorithms, &cublas));
    std::vector<GemmOptions> ours(1);
    ours.front().tile = settings_.tile;
    if (settings_.tiles) {
      for (const char* tile : kTiles) {
        ours.emplace_back();
        ours.back().tile = tile;
      }
    }
    double first = 0;
    for (const GemmOptions& options : ours) {
      double ratio = 0;
      ASSIGN_OR_RETURN(ratio, compare(shape, options, *cublas));
      if (&options == &ours.front()) first = ratio;
    }
    return first;
  }

 private:
  Status fill_operands(const Shape& s) {
    const std::size_t m = s.m, n = s.n, k = s.k;
    const std::size_t bytes = 2 * (m * k + n * k + m * n);
    sets_.clear();
    const std::size_t sets = std::clamp<std::size_t>((std::size_t{200} << 20) / bytes + 1, 2, 16);
    for (std::size_t i = 0; i < sets; ++i) {
      Operands set;
      const auto seed = static_cast<unsigned>(3 * i);
      ASSIGN_OR_RETURN(set.a, allocate(m * k, seed, settings_.dtype, stream_));
      ASSIGN_OR_RETURN(set.b, allocate(n * k, seed + 1, settings_.dtype, stream_));
      ASSIGN_OR_RETURN(set.c, allocate(m * n, seed + 2, settings_.dtype, stream_));
      sets_.push_back(std::move(set));
    }
    // A graph of some 8 ms.
    const double us = 2.0 * s.m * s.n * s.k / 600e6 + 4;
    const auto turns = static_cast<int>(std::clamp(8000 / us, 2.0, 100.0));
    calls_ = (turns + static_cast<int>(sets) - 1) / static_cast<int>(sets) * static_cast<int>(sets);
    return Status::ok();
  }

  Status find_cublas(std::vector<Gemm>& algorithms, Gemm** fastest) {
    GemmOptions options;
    options.backend = GemmBackend::kCublas;
    double best = HUGE_VAL;
    std::size_t which = 0;
    for (int rank = 0; rank < 8; ++rank) {
      options.tile = std::to_string(rank);
      auto made = Gemm::create(runtime_, problem_, options);
      if (!made && rank > 0) break;  // it has no more
      if (!made) return made.status();
      algorithms.push_back(std::move(*made));
      double us = 0;
      ASSIGN_OR_RETURN(us, time(algorithms.back()));
      if (us < best) {
        best = us;
        which = algorithms.size() - 1;
      }
    }
    *fastest = &algorithms[which];
    return Status::ok();
  }

  Result<double> compare(const Shape& s, const GemmOptions& options, Gemm& theirs) {
    auto made = Gemm::create(runtime_, problem_, options);
    if (!made) return made.status();
    std::vector<double> a, b;
    for (int round = 0; round < settings_.rounds; ++round) {
      double us = 0;
      ASSIGN_OR_RETURN(us, time(*made));
      a.push_back(us);
      ASSIGN_OR_RETURN(us, time(theirs));
      b.push_back(us);
    }
    const double weft = summarize(a).p50, cublas = summarize(b).p50,
                 operations = 2.0 * s.m * s.n * s.k;
    std::string plan = made->describe();
    plan = plan.substr(plan.find(": ") + 2);
    std::printf("%6d %6d %6d  %9.2f us %6.1f TFLOP/s  cuBLASLt %9.2f us %6.1f  ratio %.3f  %s\n",
                s.m, s.n, s.k, weft, operations / weft * 1e-6, cublas, operations / cublas * 1e-6,
                cublas / weft, plan.c_str());
    std::fflush(stdout);
    return cublas / weft;
  }

  // us of a call.
  Result<double> time(Gemm& gemm) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    CUDA_OR_RETURN(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    Status status;
    for (int i = 0; i < calls_ && status.is_ok(); ++i) {
      const Operands& set = sets_[static_cast<std::size_t>(i) % sets_.size()];
      status = gemm(stream_, set.c.get(), set.a.get(), set.b.get());
    }
    CUDA_OR_RETURN(cudaStreamEndCapture(stream_, &graph));
    RETURN_IF_ERROR(status);
    CUDA_OR_RETURN(cudaGraphInstantiate(&ready, graph, 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(settings_.pause_ms));
    CUDA_OR_RETURN(cudaGraphLaunch(ready, stream_));  // warms up
    CUDA_OR_RETURN(cudaEventRecord(begin_, stream_));
    CUDA_OR_RETURN(cudaGraphLaunch(ready, stream_));
    CUDA_OR_RETURN(cudaEventRecord(end_, stream_));
    CUDA_OR_RETURN(cudaEventSynchronize(end_));
    float ms = 0;
    CUDA_OR_RETURN(cudaEventElapsedTime(&ms, begin_, end_));
    CUDA_OR_RETURN(cudaGraphExecDestroy(ready));
    CUDA_OR_RETURN(cudaGraphDestroy(graph));
    return 1000.0 * ms / calls_;
  }

  Runtime& runtime_;
  const Settings& settings_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  GemmProblem problem_;
  std::vector<Operands> sets_;
  int calls_ = 0;
};

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tiles") {
      settings.tiles = true;
    } else if (word == "--tile" && i + 1 < argc) {
      settings.tile = argv[++i];
    } else if (word == "--fp16") {
      settings.dtype = DType::kFloat16;
    } else if (word == "--rounds" && i + 1 < argc) {
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--pause" && i + 1 < argc) {
      settings.pause_ms = std::max(0, std::atoi(argv[++i]));
    } else if (i + 2 < argc && std::atoi(argv[i]) > 0) {
      settings.shapes.push_back(
          {std::atoi(argv[i]), std::atoi(argv[i + 1]), std::atoi(argv[i + 2])});
      i += 2;
    } else {
      return Status::error(
          Code::kInvalidArgument,
          "usage: weft-gpu-gemm [--tiles | --tile NAME] [--fp16] [--rounds N] [--pause MS] "
          "[M N K]...");
    }
  }
  return settings;
}

Status measure_all(Bench& bench, const char* title, const std::vector<Shape>& shapes) {
  double logs = 0;
  for (const Shape& shape : shapes) {
    double ratio = 0;
    ASSIGN_OR_RETURN(ratio, bench.measure(shape));
    logs += std::log(ratio);
  }
  std::printf("%s: geometric mean of the ratios %.3f\n", title,
              std::exp(logs / static_cast<double>(shapes.size())));
  return Status::ok();
}

Status run(int argc, char** argv) {
  Settings settings;
  ASSIGN_OR_RETURN(settings, parse(argc, argv));
  auto runtime = Runtime::create();
  if (!runtime) return runtime.status();
  if (runtime->gpu() < 0)
    return Status::error(Code::kUnsupported, "this PE has no GPU; weft-info says why");
  cudaDeviceProp gpu{};
  CUDA_OR_RETURN(cudaGetDeviceProperties(&gpu, runtime->gpu()));
  std::printf("%s, %d multiprocessors, %s\n", gpu.name, gpu.multiProcessorCount,
              to_string(settings.dtype));
  Bench bench(*runtime, settings);
  RETURN_IF_ERROR(bench.start());
  if (!settings.shapes.empty()) return measure_all(bench, "these", settings.shapes);
  RETURN_IF_ERROR(measure_all(bench, "large", kLarge));
  return measure_all(bench, "few rows", kSmall);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
  const weft::Status status = weft::perf::run(argc, argv);
  if (status.is_ok()) return 0;
  std::fprintf(stderr, "weft-gpu-gemm: %s\n", status.to_string().c_str());
  return 1;
}
