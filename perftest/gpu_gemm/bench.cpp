#include "perftest/gpu_gemm/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>
#include <utility>

#include <weft/small_float.hpp>

#include "perftest/statistics.hpp"

namespace weft::perf::gemm {
namespace {

const char* const kE4m3Tiles[] = {"64x64",   "128x64",  "128x128",  "128x192",
                                  "192x128", "64x64/k", "128x64/k", "64x56"};
const char* const kTiles[] = {"64x64",    "128x64",  "128x80",   "128x96",  "128x128", "128x160",
                              "128x192",  "128x224", "128x256",  "256x160", "256x176", "64x64/k",
                              "128x64/k", "64x48/k", "128x48/k", "64x32",   "64x40",   "64x48",
                              "64x56",    "128x32",  "128x40"};

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

Result<Memory> allocate(std::size_t count, unsigned seed, DType dtype, cudaStream_t stream) {
  void* data = nullptr;
  CUDA_OR_RETURN(cudaMalloc(&data, kernels::bytes_of(dtype) * count));
  Memory memory(data);
  fill<<<1024, 256, 0, stream>>>(memory.get(), count, seed, dtype);
  CUDA_OR_RETURN(cudaGetLastError());
  return Result<Memory>(std::move(memory));
}

}  // namespace

Status Bench::start() {
  CUDA_OR_RETURN(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  CUDA_OR_RETURN(cudaEventCreate(&begin_));
  return check(cudaEventCreate(&end_), "cudaEventCreate");
}

DType Bench::dtype() const {
  if (options_.dtype == "fp16") return DType::kFloat16;
  return options_.dtype == "e4m3" ? DType::kFloat8E4m3 : DType::kBfloat16;
}

Status Bench::measure(const Row& row, const Shape& shape) {
  problem_ = GemmProblem{shape.m, shape.n, shape.k, dtype()};
  RETURN_IF_ERROR(fill_operands(shape));
  Product cublas;
  std::vector<Gemm> algorithms;
  CublasE4m3 e4m3;
  if (options_.baselines.cublas)
    RETURN_IF_ERROR(is_e4m3() ? find_cublas(shape, e4m3, &cublas)
                              : find_cublas(algorithms, &cublas));
  Line line;
  line.row = &row;
  line.point.type = find_type(row.type);
  line.work.flops = 2.0 * shape.m * shape.n * shape.k;
  line.shape = std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
               std::to_string(shape.k) + (dtype() == DType::kBfloat16 ? "" : " " + options_.dtype);
  GemmOptions options;
  options.tile = options_.tile;
  RETURN_IF_ERROR(compare(line, options, cublas));
  if (!options_.tiles) return Status::ok();
  line.by_plan = false;
  const std::vector<const char*> tiles(is_e4m3() ? std::begin(kE4m3Tiles) : std::begin(kTiles),
                                       is_e4m3() ? std::end(kE4m3Tiles) : std::end(kTiles));
  for (const char* const tile : tiles) {
    options.tile = tile;
    RETURN_IF_ERROR(compare(line, options, cublas));
  }
  return Status::ok();
}

Status Bench::fill_operands(const Shape& s) {
  const std::size_t m = s.m, n = s.n, k = s.k;
  const std::size_t bytes = kernels::bytes_of(problem_.dtype) * (m * k + n * k) + 2 * m * n;
  sets_.clear();
  const std::size_t sets = std::clamp<std::size_t>((std::size_t{200} << 20) / bytes + 1, 2, 16);
  for (std::size_t i = 0; i < sets; ++i) {
    Operands set;
    const auto seed = static_cast<unsigned>(3 * i);
    ASSIGN_OR_RETURN(set.a, allocate(m * k, seed, problem_.dtype, stream_));
    ASSIGN_OR_RETURN(set.b, allocate(n * k, seed + 1, problem_.dtype, stream_));
    ASSIGN_OR_RETURN(set.c, allocate(m * n, seed + 2, DType::kBfloat16, stream_));
    if (is_e4m3()) {
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

Product Bench::product_of(Gemm& gemm) const {
  return [this, &gemm](cudaStream_t stream, const Operands& set) {
    return gemm(stream, set.c.get(), set.a.get(), set.b.get(), problem_.m, set.scales());
  };
}

Status Bench::find_cublas(const Shape& s, CublasE4m3& cublas, Product* fastest) {
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

Status Bench::find_cublas(std::vector<Gemm>& algorithms, Product* fastest) {
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

Status Bench::compare(Line line, const GemmOptions& options, const Product& theirs) {
  auto made = Gemm::create(runtime_, problem_, options);
  if (!made) return made.status();
  std::vector<double> weft, cublas;
  for (int round = 0; round < options_.rounds; ++round) {
    double us = 0;
    ASSIGN_OR_RETURN(us, time(product_of(*made)));
    weft.push_back(1e3 * us);
    if (!theirs) continue;
    ASSIGN_OR_RETURN(us, time(theirs));
    cublas.push_back(1e3 * us);
  }
  line.baseline = "cuBLASLt";
  line.plan = made->describe();
  line.plan = line.plan.substr(line.plan.find(": ") + 2);
  line.measured.batch = static_cast<Count>(calls_);
  line.measured.iters = line.measured.batch * weft.size();
  line.measured.time = summarize(std::move(weft));
  line.measured.floor = summarize(std::move(cublas));
  if (line.has_baseline()) line.measured.ratio = line.measured.time.p50 / line.measured.floor.p50;
  out_.add(line);
  return Status::ok();
}

Result<double> Bench::time(const Product& product) {
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
  std::this_thread::sleep_for(std::chrono::milliseconds(options_.pause_ms));
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

}  // namespace weft::perf::gemm
