// Uses the recipe gemm_architecture: Gemm takes the toy's back end for bfloat16 alone, and it is
// right.
#include <cstdio>
#include <string>

#include <weft/device.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

namespace {

using weft::kernels::DType;

constexpr int kM = 3, kN = 8, kK = 16;

weft::Status wrong(const std::string& text) {
  return weft::Status::error(weft::Code::kInternal, text);
}

template <class T>
weft::Status multiply(weft::Runtime& runtime, DType dtype, bool is_toys) {
  auto gemm = weft::kernels::Gemm::create(runtime, {kM, kN, kK, dtype});
  if (!gemm) return gemm.status();
  if ((gemm->describe().find("toy") != std::string::npos) != is_toys)
    return wrong("not the back end that was meant: " + gemm->describe());
  alignas(16) T a[kM * kK], b[kN * kK], c[kM * kN];
  for (int i = 0; i < kM * kK; ++i) a[i] = T(static_cast<float>(i % 7 - 3));
  for (int i = 0; i < kN * kK; ++i) b[i] = T(static_cast<float>(i % 5 - 2));
  weft::Status status = (*gemm)(nullptr, c, a, b);
  if (status) status = weft::dev::synchronize();
  if (!status) return status;
  for (int i = 0; i < kM * kN; ++i) {
    int sum = 0;
    for (int k = 0; k < kK; ++k) sum += ((i / kN * kK + k) % 7 - 3) * ((i % kN * kK + k) % 5 - 2);
    if (static_cast<float>(c[i]) != static_cast<float>(sum))
      return wrong("element " + std::to_string(i) + " of " + gemm->describe());
  }
  std::printf("%s\n", gemm->describe().c_str());
  return status;
}

weft::Status job() {
  auto runtime = weft::Runtime::create();
  if (!runtime) return runtime.status();
  weft::Status status = multiply<weft::Bfloat16>(*runtime, DType::kBfloat16, true);
  return status ? multiply<weft::Half>(*runtime, DType::kFloat16, false) : status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
