// cuBLASLt's product of e4m3 with one scale for each matrix (1, here): not what Gemm computes, but
// nothing is scaled or added in between, so that it is a ceiling.
#pragma once

#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <string>

#include <weft/status.hpp>

namespace weft::perf {

class CublasE4m3 {
 public:
  CublasE4m3() = default;
  CublasE4m3(const CublasE4m3&) = delete;
  CublasE4m3& operator=(const CublasE4m3&) = delete;
  ~CublasE4m3() {
    if (workspace_ != nullptr) (void)cudaFree(workspace_);
  }

  // c[m, n] of bfloat16 = a[m, k] * b[n, k]^T, without gaps. count() algorithms are found.
  Status start(int m, int n, int k) {
    void* library = nullptr;
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
      if (library == nullptr) library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    }
    if (library == nullptr) return failed("no libcublasLt", 0);
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtMatmulDescCreate) describe;
    decltype(&cublasLtMatmulDescSetAttribute) set;
    decltype(&cublasLtMatrixLayoutCreate) lay_out;
    decltype(&cublasLtMatmulPreferenceCreate) prefer;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    if (!find("cublasLtCreate", create) || !find("cublasLtMatmulDescCreate", describe) ||
        !find("cublasLtMatmulDescSetAttribute", set) ||
        !find("cublasLtMatrixLayoutCreate", lay_out) ||
        !find("cublasLtMatmulPreferenceCreate", prefer) ||
        !find("cublasLtMatmulPreferenceSetAttribute", set_preference) ||
        !find("cublasLtMatmulAlgoGetHeuristic", heuristic) || !find("cublasLtMatmul", matmul_)) {
      return failed("a function is missing", 0);
    }
    if (workspace_ == nullptr && cudaMalloc(&workspace_, kWorkspace) != cudaSuccess)
      return failed("no memory for a workspace", 0);
    // It counts columns first: c^T[n, m] = (b^T)^T * a^T.
    const cublasOperation_t turned = CUBLAS_OP_T;
    const std::int8_t fast = 1;  // sums stay in the tensor cores
    cublasLtMatmulPreference_t preference = nullptr;
    const std::size_t bytes = kWorkspace;
    for (const cublasStatus_t status :
         {create(&handle_), describe(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned),
          set(desc_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
          lay_out(&b_, CUDA_R_8F_E4M3, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(n),
                  k),
          lay_out(&a_, CUDA_R_8F_E4M3, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(m),
                  k),
          lay_out(&c_, CUDA_R_16BF, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m),
                  n),
          prefer(&preference),
          set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                         sizeof bytes),
          heuristic(handle_, desc_, b_, a_, c_, c_, preference, kMost, found_.data(), &count_)}) {
      if (status != CUBLAS_STATUS_SUCCESS) return failed("describing the product", status);
    }
    return Status::ok();
  }
  int count() const { return count_; }

  Status run(cudaStream_t stream, void* c, const void* a, const void* b, int algorithm) const {
    const float one = 1, zero = 0;
    const cublasStatus_t status =
        matmul_(handle_, desc_, &one, b, b_, a, a_, &zero, c, c_, c, c_,
                &found_[static_cast<std::size_t>(algorithm)].algo, workspace_, kWorkspace, stream);
    return status == CUBLAS_STATUS_SUCCESS ? Status::ok() : failed("multiplying", status);
  }

 private:
  static constexpr std::size_t kWorkspace = 64 << 20;
  static constexpr int kMost = 8;
  static Status failed(const char* what, int error) {
    return Status::error(Code::kInternal,
                         std::string("cuBLASLt: ") + what + ", error " + std::to_string(error));
  }
  // The process's, all but the workspace: a few for each shape.
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  decltype(&cublasLtMatmul) matmul_ = nullptr;
  void* workspace_ = nullptr;
  std::array<cublasLtMatmulHeuristicResult_t, kMost> found_{};
  int count_ = 0;
};

}  // namespace weft::perf
