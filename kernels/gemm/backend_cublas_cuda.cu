// The backend of cuBLASLt, which is loaded when it is wanted: to compare with, and for GPUs that
// have no kernels here.
#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/plan_sm80.hpp"

namespace weft::kernels::gemm {
namespace {

constexpr std::size_t kWorkspaceBytes = 64 << 20;
constexpr int kMostAlgorithms = 8;

// The library's functions that are called here.
struct Library {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) matmul;
};

Result<Library> load() {
  void* handle = nullptr;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if ((handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) != nullptr) break;
  }
  if (handle == nullptr) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("cuBLASLt is needed for this, and not found: {}; install "
                    "CUDA's cublas, or set LD_LIBRARY_PATH",
                    ::dlerror()));
  }
  Library library{};
  const auto find = [&](const char* name, auto& function) -> Status {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(handle, name));
    if (function != nullptr) return Status::ok();
    return Status::error(Code::kUnsupported, fmt::format("libcublasLt lacks {}", name));
  };
  RETURN_IF_ERROR(find("cublasLtCreate", library.create));
  RETURN_IF_ERROR(find("cublasLtDestroy", library.destroy));
  RETURN_IF_ERROR(find("cublasLtMatmulDescCreate", library.desc_create));
  RETURN_IF_ERROR(find("cublasLtMatmulDescDestroy", library.desc_destroy));
  RETURN_IF_ERROR(find("cublasLtMatmulDescSetAttribute", library.desc_set));
  RETURN_IF_ERROR(find("cublasLtMatrixLayoutCreate", library.layout_create));
  RETURN_IF_ERROR(find("cublasLtMatrixLayoutDestroy", library.layout_destroy));
  RETURN_IF_ERROR(find("cublasLtMatmulPreferenceCreate", library.preference_create));
  RETURN_IF_ERROR(find("cublasLtMatmulPreferenceDestroy", library.preference_destroy));
  RETURN_IF_ERROR(find("cublasLtMatmulPreferenceSetAttribute", library.preference_set));
  RETURN_IF_ERROR(find("cublasLtMatmulAlgoGetHeuristic", library.heuristic));
  RETURN_IF_ERROR(find("cublasLtMatmul", library.matmul));
  return library;
}

#define RETURN_UNLESS_DONE(what, call)                                                         \
  do {                                                                                         \
    if (const cublasStatus_t status_ = (call); status_ != CUBLAS_STATUS_SUCCESS) {             \
      return Status::error(Code::kInternal, fmt::format("Gemm: {}: cuBLASLt's error {}", what, \
                                                        static_cast<int>(status_)));           \
    }                                                                                          \
  } while (false)

class Cublas : public GpuBackend {
 public:
  Cublas(const Gpu& gpu, const GemmProblem& problem, const Library& library, int rank)
      : GpuBackend(gpu, problem), library_(library), rank_(rank) {}
  ~Cublas() override {
    const RelaxedCapture relaxed(true);
    forget();
    if (desc_ != nullptr) library_.desc_destroy(desc_);
    if (handle_ != nullptr) library_.destroy(handle_);
    if (workspace_ != nullptr) (void)cudaFree(workspace_);  // at exit, the driver may be gone
  }

  Status start() {
    RETURN_UNLESS_DONE("starting", library_.create(&handle_));
    RETURN_UNLESS_DONE("describing the product",
                       library_.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    // It counts columns first: c^T[n, m] = (b^T)^T * a^T.
    const cublasOperation_t turned = CUBLAS_OP_T;
    RETURN_UNLESS_DONE(
        "describing the product",
        library_.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned));
    RETURN_IF_FAILED("allocating cuBLASLt's workspace", cudaMalloc(&workspace_, kWorkspaceBytes));
    if (p_.m > 0 && p_.n > 0 && p_.k > 0) return choose(static_cast<int>(p_.m));
    return Status::ok();
  }

  Status run(Stream stream, void* c, const void* a, const void* b, int m,
             const GemmScales&) override {
    RETURN_IF_ERROR(check_current(gpu_));
    if (m != chosen_) RETURN_IF_ERROR(choose(m));
    const float one = 1, zero = 0;
    RETURN_UNLESS_DONE(
        "multiplying",
        library_.matmul(handle_, desc_, &one, b, b_, a, a_, &zero, c, c_, c, c_, &algorithm_,
                        workspace_, kWorkspaceBytes, static_cast<cudaStream_t>(stream)));
    return Status::ok();
  }

  std::string describe() const override {
    return fmt::format("cuBLASLt, algorithm {} of {}", rank_, found_);
  }

 private:
  // The algorithm of that rank by the library's own guess, for m rows.
  Status choose(int m) {
    forget();
    const auto type = p_.dtype == DType::kBfloat16 ? CUDA_R_16BF : CUDA_R_16F;
    const auto n = static_cast<std::uint64_t>(p_.n), k = static_cast<std::uint64_t>(p_.k);
    const auto rows = static_cast<std::uint64_t>(m);
    RETURN_UNLESS_DONE("describing b", library_.layout_create(&b_, type, k, n, p_.ldb));
    RETURN_UNLESS_DONE("describing a", library_.layout_create(&a_, type, k, rows, p_.lda));
    RETURN_UNLESS_DONE("describing c", library_.layout_create(&c_, type, n, rows, p_.ldc));
    cublasLtMatmulPreference_t preference = nullptr;
    RETURN_UNLESS_DONE("asking for algorithms", library_.preference_create(&preference));
    std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results;
    const std::size_t bytes = kWorkspaceBytes;
    cublasStatus_t status = library_.preference_set(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    found_ = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = library_.heuristic(handle_, desc_, b_, a_, c_, c_, preference, kMostAlgorithms,
                                  results.data(), &found_);
    }
    library_.preference_destroy(preference);
    RETURN_UNLESS_DONE("asking for algorithms", status);
    if (rank_ >= found_) {
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("Gemm: options.tile asks for cuBLASLt's algorithm {}, and it has "
                      "{} for this",
                      rank_, found_));
    }
    algorithm_ = results[static_cast<std::size_t>(rank_)].algo;
    chosen_ = m;
    return Status::ok();
  }
  void forget() {
    for (cublasLtMatrixLayout_t* layout : {&a_, &b_, &c_}) {
      if (*layout != nullptr) library_.layout_destroy(*layout);
      *layout = nullptr;
    }
    chosen_ = 0;
  }

  const Library library_;
  const int rank_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  void* workspace_ = nullptr;
  int found_ = 0;
  int chosen_ = 0;  // rows that the layouts and the algorithm are for
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cublas(const GemmProblem& problem,
                                             const GemmOptions& options) {
  if (options.backend == GemmBackend::kKernels)
    return refuse("options.backend asks for kernels of Weft's own");
  if (options.backend != GemmBackend::kCublas && sm80::is_name(options.tile))
    return refuse("options.tile is one of sm80's");
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  Library library{};
  ASSIGN_OR_RETURN(library, load());
  const int rank = options.tile.empty() ? 0 : std::atoi(options.tile.c_str());
  auto made = std::make_unique<Cublas>(gpu, problem, library, rank);
  RETURN_IF_ERROR(made->start());
  return std::unique_ptr<Backend>(std::move(made));
}

}  // namespace weft::kernels::gemm
