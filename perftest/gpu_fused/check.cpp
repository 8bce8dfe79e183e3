// Whether what was timed is right.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <weft/small_float.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

constexpr unsigned kJudged = 16;  // elements

// Which elements are apart, the first that were found.
struct Apart {
  unsigned count;
  unsigned long long index[kJudged];
};

__device__ float value(std::uint16_t bits) {
  Bfloat16 x;
  x.bits = bits;
  return static_cast<float>(x);
}

__global__ void compare(const std::uint16_t* x, const std::uint16_t* y, std::size_t count,
                        float relative, float absolute, Apart* apart) {
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (std::size_t i = first; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const float a = value(x[i]), b = value(y[i]);
    if (fabsf(a - b) <= relative * fmaxf(fabsf(a), fabsf(b)) + absolute) continue;
    const unsigned place = atomicAdd(&apart->count, 1u);
    if (place < kJudged) apart->index[place] = i;
  }
}

Result<Apart> compare_on(cudaStream_t stream, const Calls& calls) {
  Apart* apart = nullptr;
  Apart seen{};
  RETURN_IF_ERROR(of(cudaMallocAsync(&apart, sizeof seen, stream)));
  RETURN_IF_ERROR(of(cudaMemsetAsync(apart, 0, sizeof seen, stream)));
  compare<<<1024, 256, 0, stream>>>(calls.c, calls.reference, calls.count, 0x1p-7f,
                                    calls.absolute_error, apart);
  RETURN_IF_ERROR(of(cudaMemcpyAsync(&seen, apart, sizeof seen, cudaMemcpyDeviceToHost, stream)));
  RETURN_IF_ERROR(of(cudaFreeAsync(apart, stream)));
  RETURN_IF_ERROR(of(cudaStreamSynchronize(stream)));
  return seen;
}

Result<float> element(const std::uint16_t* data, std::size_t index) {
  Bfloat16 x;
  RETURN_IF_ERROR(of(cudaMemcpy(&x.bits, data + index, sizeof x.bits, cudaMemcpyDeviceToHost)));
  return static_cast<float>(x);
}

Status wrong(const Shape& shape, const std::string& what) {
  return Status::error(Code::kInternal, std::string(shape.name) + " " + std::to_string(shape.m) +
                                            " x " + std::to_string(shape.n) + " x " +
                                            std::to_string(shape.k) + " is wrong: " + what);
}

// The first ones apart, and some others all over c.
std::vector<std::size_t> to_judge(const Apart& apart, std::size_t count) {
  std::vector<std::size_t> indices;
  for (unsigned i = 0; i < kJudged; ++i)
    indices.push_back(i < apart.count ? apart.index[i] : count * i / kJudged);
  return indices;
}

Status judge(const Shape& shape, const Calls& calls, std::size_t index, const Exact& exact) {
  float ours = 0, theirs = 0;
  ASSIGN_OR_RETURN(ours, element(calls.c, index));
  ASSIGN_OR_RETURN(theirs, element(calls.reference, index));
  if (std::fabs(ours - exact.sum) <= exact.error()) return Status::ok();
  char text[160];
  std::snprintf(text, sizeof text,
                "element %zu is %g; cuBLASLt and NCCL have %g, exact is %g, give or take %g", index,
                ours, theirs, exact.sum, exact.error());
  return wrong(shape, text);
}

}  // namespace

Status Bench::check(const Shape& shape, const Calls& calls) const {
  Apart apart{};
  ASSIGN_OR_RETURN(apart, compare_on(static_cast<cudaStream_t>(stream_), calls));
  const unsigned most = calls.exact ? kJudged : 0;
  if (apart.count > most) return wrong(shape, std::to_string(apart.count) + " elements are apart");
  if (!calls.exact) return Status::ok();
  const std::vector<std::size_t> indices = to_judge(apart, calls.count);
  std::vector<Exact> exact;
  ASSIGN_OR_RETURN(exact, calls.exact(indices));
  for (std::size_t i = 0; i < indices.size() && calls.count > 0; ++i)
    RETURN_IF_ERROR(judge(shape, calls, indices[i], exact[i]));
  return Status::ok();
}

}  // namespace weft::perf::fused
