// weft-gpu-gemm: the matrix product of weft::kernels beside cuBLASLt, on one GPU.
//
//   weft-gpu-gemm [--vs cublas|none] [--tiles | --tile NAME] [--dtype bf16|fp16|e4m3]
//                 [--rounds N] [--pause MS] [M N K]...
//
// Both multiply the same random normal numbers, in turns, as CUDA graphs of some milliseconds;
// operands rotate where they would stay in the cache. cuBLASLt runs the fastest of the
// algorithms that its heuristics name. A pause before each graph lets the GPU cool, so that neither
// runs on what the other has left of its power. Rates count 2 * M * N * K operations; a ratio is
// cuBLASLt's time over Weft's.
// For e4m3 with scales for blocks, cuBLASLt multiplies the same numbers with one scale a matrix: a
// ceiling (peers/cublas_e4m3.hpp).
// --tiles runs every tile of Weft's, for the table in kernels/gemm/plan.hpp; --tile the one of that
// name, as "sm80/128x128".
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "perftest/peers/cublas_e4m3.hpp"
#include "perftest/statistics.hpp"
#include "perftest/status.hpp"
#include "perftest/vs.hpp"

namespace weft::perf {
namespace {

using kernels::DType;
using kernels::Gemm;
using kernels::GemmBackend;
using kernels::GemmOptions;
using kernels::GemmProblem;
using kernels::GemmScales;

struct Shape {
  int m, n, k;
};
// The products of a rank of 8 in tensor-parallel layers (LLaMA, Qwen, GPT-3): before a
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
// The products of e4m3: layers of DeepSeek-V3.
const std::vector<Shape> kLargeE4m3 = {{4096, 2112, 7168}, {4096, 24576, 1536}, {4096, 7168, 16384},
                                       {4096, 4096, 7168}, {4096, 7168, 2048},  {8192, 8192, 8192}};
const std::vector<Shape> kSmallE4m3 = {{1, 7168, 2048},   {16, 4096, 7168},  {64, 2112, 7168},
                                       {64, 7168, 16384}, {64, 4096, 7168},  {64, 7168, 2048},
                                       {128, 4096, 7168}, {128, 7168, 2048}, {256, 7168, 2048}};
const char* const kE4m3Tiles[] = {"64x64",   "128x64",  "128x128",  "128x192",
                                  "192x128", "64x64/k", "128x64/k", "64x56"};
const char* const kTiles[] = {"64x64",    "128x64",  "128x80",   "128x96",  "128x128", "128x160",
                              "128x192",  "128x224", "128x256",  "256x160", "256x176", "64x64/k",
                              "128x64/k", "64x48/k", "128x48/k", "64x32",   "64x40",   "64x48",
                              "64x56",    "128x32",  "128x40"};

struct Settings {
  bool tiles = false;
  std::string tile{};  // "": the plan's
  DType dtype = DType::kBfloat16;
  Peers peers;
  int rounds = 5;
  int pause_ms = 20;
  std::vector<Shape> shapes;

  bool is_e4m3() const { return dtype == DType::kFloat8E4m3; }
  std::vector<const char*> tiles_of() const {
    if (is_e4m3()) return {std::begin(kE4m3Tiles), std::end(kE4m3Tiles)};
    return {std::begin(kTiles), std::end(kTiles)};
  }
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

// Normal numbers from pairs of uniform ones (Box-Muller); of e4m3, as large as fits.
__global__ void fill(void* to, std::size_t count, unsigned seed, DType dtype) {
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (std::size_t i = first; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const unsigned number = mixed(seed) + 2 * static_cast<unsigned>(i);
    const float u = (static_cast<float>(mixed(number)) + 1.0f) * 0x1p-32f;
    const float v = static_cast<float>(mixed(number + 1)) * 0x1p-32f;
    const float value = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
    if (dtype == DType::kFloat32) {
      static_cast<float*>(to)[i] = value;
    } else if (dtype == DType::kFloat8E4m3) {
      // A half of 2^-8 of it has the same bits, but for seven more of the fraction.
      const unsigned half = Half(fminf(fmaxf(100 * value, -448.0f), 448.0f) * 0x1p-8f).bits;
      static_cast<unsigned char*>(to)[i] =
          static_cast<unsigned char>((half >> 8 & 0x80) | (half >> 7 & 0x7f));
    } else {
      static_cast<unsigned short*>(to)[i] =
          dtype == DType::kBfloat16 ? Bfloat16(value).bits : Half(value).bits;
    }
  }
}

// Memory of the GPU that frees itself.
struct Free {
  void operator()(void* data) const { (void)cudaFree(data); }
};
using Memory = std::unique_ptr<void, Free>;

Result<Memory> allocate(std::size_t count, unsigned seed, DType dtype, cudaStream_t stream) {
  void* data = nullptr;
  CUDA_OR_RETURN(cudaMalloc(&data, kernels::bytes_of(dtype) * count));
  Memory memory(data);
  fill<<<1024, 256, 0, stream>>>(memory.get(), count, seed, dtype);
  CUDA_OR_RETURN(cudaGetLastError());
  return Result<Memory>(std::move(memory));
}

struct Operands {
  Memory a, b, c;
  Memory scale_a, scale_b;  // of e4m3
  GemmScales scales() const {
    return {static_cast<const float*>(scale_a.get()), static_cast<const float*>(scale_b.get())};
  }
};
using Product = std::function<Status(cudaStream_t, const Operands&)>;

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
    Product cublas;
    std::vector<Gemm> algorithms;
    CublasE4m3 e4m3;
    if (settings_.peers.cublas) {
      RETURN_IF_ERROR(settings_.is_e4m3() ? find_cublas(shape, e4m3, &cublas)
                                          : find_cublas(algorithms, &cublas));
    }
    std::vector<GemmOptions> ours(1);
    ours.front().tile = settings_.tile;
    if (settings_.tiles) {
      for (const char* tile : settings_.tiles_of()) {
        ours.emplace_back();
        ours.back().tile = tile;
      }
    }
    double first = 0;
    for (const GemmOptions& options : ours) {
      double ratio = 0;
      ASSIGN_OR_RETURN(ratio, compare(shape, options, cublas));
      if (&options == &ours.front()) first = ratio;
    }
    return first;
  }

 private:
  Status fill_operands(const Shape& s) {
    const std::size_t m = s.m, n = s.n, k = s.k;
    const std::size_t bytes = kernels::bytes_of(settings_.dtype) * (m * k + n * k) + 2 * m * n;
    sets_.clear();
    const std::size_t sets = std::clamp<std::size_t>((std::size_t{200} << 20) / bytes + 1, 2, 16);
    for (std::size_t i = 0; i < sets; ++i) {
      Operands set;
      const auto seed = static_cast<unsigned>(3 * i);
      ASSIGN_OR_RETURN(set.a, allocate(m * k, seed, settings_.dtype, stream_));
      ASSIGN_OR_RETURN(set.b, allocate(n * k, seed + 1, settings_.dtype, stream_));
      ASSIGN_OR_RETURN(set.c, allocate(m * n, seed + 2, DType::kBfloat16, stream_));
      if (settings_.is_e4m3()) {
        const std::size_t q = (k + 127) / 128;
        ASSIGN_OR_RETURN(set.scale_a, allocate(m * q, seed, DType::kFloat32, stream_));
        ASSIGN_OR_RETURN(set.scale_b,
                         allocate((n + 127) / 128 * q, seed + 1, DType::kFloat32, stream_));
      }
      sets_.push_back(std::move(set));
    }
    // A graph of some 8 ms.
    const double us = 2.0 * s.m * s.n * s.k / 600e6 + 4;
    const auto turns = static_cast<int>(std::clamp(8000 / us, 2.0, 100.0));
    calls_ = (turns + static_cast<int>(sets) - 1) / static_cast<int>(sets) * static_cast<int>(sets);
    return Status::ok();
  }

  Product product_of(Gemm& gemm) const {
    return [this, &gemm](cudaStream_t stream, const Operands& set) {
      return gemm(stream, set.c.get(), set.a.get(), set.b.get(), problem_.m, set.scales());
    };
  }

  Status find_cublas(const Shape& s, CublasE4m3& cublas, Product* fastest) {
    RETURN_IF_ERROR(cublas.start(s.m, s.n, s.k));
    double best = HUGE_VAL;
    for (int rank = 0; rank < cublas.count(); ++rank) {
      const Product product = [&cublas, rank](cudaStream_t stream, const Operands& set) {
        return cublas.run(stream, set.c.get(), set.a.get(), set.b.get(), rank);
      };
      double us = 0;
      ASSIGN_OR_RETURN(us, time(product));
      if (us < best) {
        best = us;
        *fastest = product;
      }
    }
    if (best < HUGE_VAL) return Status::ok();
    return Status::error(Code::kUnsupported, "cuBLASLt has no algorithm for this product of e4m3");
  }

  Status find_cublas(std::vector<Gemm>& algorithms, Product* fastest) {
    algorithms.reserve(8);  // products refer to them
    GemmOptions options;
    options.backend = GemmBackend::kCublas;
    double best = HUGE_VAL;
    for (int rank = 0; rank < 8; ++rank) {
      options.tile = std::to_string(rank);
      auto made = Gemm::create(runtime_, problem_, options);
      if (!made && rank > 0) break;  // it has no more
      if (!made) return made.status();
      algorithms.push_back(std::move(*made));
      double us = 0;
      const Product product = product_of(algorithms.back());
      ASSIGN_OR_RETURN(us, time(product));
      if (us < best) {
        best = us;
        *fastest = product;
      }
    }
    return Status::ok();
  }

  Result<double> compare(const Shape& s, const GemmOptions& options, const Product& theirs) {
    auto made = Gemm::create(runtime_, problem_, options);
    if (!made) return made.status();
    std::vector<double> a, b;
    for (int round = 0; round < settings_.rounds; ++round) {
      double us = 0;
      ASSIGN_OR_RETURN(us, time(product_of(*made)));
      a.push_back(us);
      us = 0;
      if (theirs) {
        ASSIGN_OR_RETURN(us, time(theirs));
      }
      b.push_back(us);
    }
    const double weft = summarize(a).p50, cublas = summarize(b).p50,
                 operations = 2.0 * s.m * s.n * s.k;
    std::string plan = made->describe();
    plan = plan.substr(plan.find(": ") + 2);
    std::printf("%6d %6d %6d  %9.2f us %6.1f TFLOP/s  cuBLASLt %9.2f us %6.1f  ratio %.3f  %s\n",
                s.m, s.n, s.k, weft, operations / weft * 1e-6, cublas,
                cublas > 0 ? operations / cublas * 1e-6 : 0, cublas / weft, plan.c_str());
    std::fflush(stdout);
    return cublas / weft;
  }

  // us of a call.
  Result<double> time(const Product& product) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    CUDA_OR_RETURN(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    Status status;
    for (int i = 0; i < calls_ && status.is_ok(); ++i) {
      status = product(stream_, sets_[static_cast<std::size_t>(i) % sets_.size()]);
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

bool dtype_named(const char* name, DType* dtype) {
  if (std::strcmp(name, "bf16") == 0)
    *dtype = DType::kBfloat16;
  else if (std::strcmp(name, "fp16") == 0)
    *dtype = DType::kFloat16;
  else if (std::strcmp(name, "e4m3") == 0)
    *dtype = DType::kFloat8E4m3;
  else
    return false;
  return true;
}

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tiles") {
      settings.tiles = true;
    } else if (word == "--tile" && i + 1 < argc) {
      settings.tile = argv[++i];
    } else if (word == "--vs" && i + 1 < argc && peers_named(argv[i + 1])) {
      settings.peers = *peers_named(argv[++i]);
    } else if (word == "--dtype" && i + 1 < argc && dtype_named(argv[i + 1], &settings.dtype)) {
      ++i;
    } else if (word == "--rounds" && i + 1 < argc) {
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--pause" && i + 1 < argc) {
      settings.pause_ms = std::max(0, std::atoi(argv[++i]));
    } else if (i + 2 < argc && std::atoi(argv[i]) > 0) {
      settings.shapes.push_back(
          {std::atoi(argv[i]), std::atoi(argv[i + 1]), std::atoi(argv[i + 2])});
      i += 2;
    } else {
      return Status::error(Code::kInvalidArgument,
                           "usage: weft-gpu-gemm [--vs cublas|none] [--tiles | --tile NAME] "
                           "[--dtype bf16|fp16|e4m3] [--rounds N] [--pause MS] [M N K]...");
    }
  }
  return settings;
}

Status measure_all(Bench& bench, const Settings& settings, const char* title,
                   const std::vector<Shape>& shapes) {
  double logs = 0;
  for (const Shape& shape : shapes) {
    double ratio = 0;
    ASSIGN_OR_RETURN(ratio, bench.measure(shape));
    logs += std::log(ratio);
  }
  if (!settings.peers.cublas) return Status::ok();
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
  std::printf("%s, %d SMs, %s; M N K; TFLOP/s: 2 M N K / us / 10^6\n", gpu.name,
              gpu.multiProcessorCount, to_string(settings.dtype));
  Bench bench(*runtime, settings);
  RETURN_IF_ERROR(bench.start());
  if (!settings.shapes.empty()) return measure_all(bench, settings, "these", settings.shapes);
  RETURN_IF_ERROR(measure_all(bench, settings, "large", settings.is_e4m3() ? kLargeE4m3 : kLarge));
  return measure_all(bench, settings, "few rows", settings.is_e4m3() ? kSmallE4m3 : kSmall);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
  const weft::Status status = weft::perf::run(argc, argv);
  if (status.is_ok()) return 0;
  std::fprintf(stderr, "weft-gpu-gemm: %s\n", status.to_string().c_str());
  return status.code() == weft::Code::kInvalidArgument ? 2 : 1;
}
