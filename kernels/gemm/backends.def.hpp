// The back ends of the GEMM, a row each, by what becomes of a finished tile (the epilogue), the
// architecture and the types of a and b. A call goes to the first row that fits and does not refuse
// it; so of several for one GPU, the fastest stands first.
//
//   ROW(name, architectures, dtypes)    as backend_table.hpp has them; defines
//
//   WEFT_GEMM_STORE         C is stored: gemm::make_NAME(), in backend_NAME.cpp beside this file
//   WEFT_GEMM_GATHER        stored, while A is gathered: ag_gemm::make_overlapped_NAME()
//   WEFT_GEMM_SCATTER       tiles go to their rows' owners: gemm_rs::make_overlapped_NAME()
//   WEFT_GEMM_ONE_KERNEL    words of few rows do: gemm_rs::make_one_kernel_NAME()
//
// Names of files for one vendor's GPUs end in _smNN.cu or _cuda.cu. Where it has none of the last
// three, a fused operator does one thing after the other: so a new architecture begins with one
// file and one row.
#ifndef WEFT_GEMM_STORE
#define WEFT_GEMM_STORE(...)
#endif
#ifndef WEFT_GEMM_GATHER
#define WEFT_GEMM_GATHER(...)
#endif
#ifndef WEFT_GEMM_SCATTER
#define WEFT_GEMM_SCATTER(...)
#endif
#ifndef WEFT_GEMM_ONE_KERNEL
#define WEFT_GEMM_ONE_KERNEL(...)
#endif

#if defined(WEFT_HAS_CUDA_KERNELS)
WEFT_GEMM_STORE(sm90, gemm::gpus(90, 90), gemm::kTwoBytes | gemm::kE4m3)
WEFT_GEMM_STORE(cublas, gemm::gpus(0), gemm::kTwoBytes)
WEFT_GEMM_STORE(sm80, gemm::gpus(80), gemm::kTwoBytes)
WEFT_GEMM_GATHER(sm90, gemm::gpus(90, 90), gemm::kTwoBytes)
WEFT_GEMM_SCATTER(sm90, gemm::gpus(90, 90), gemm::kTwoBytes)
WEFT_GEMM_ONE_KERNEL(sm90, gemm::gpus(90, 90), gemm::kTwoBytes)
#endif
WEFT_GEMM_STORE(host, gemm::host_threads(), gemm::kTwoBytes | gemm::kE4m3)
WEFT_GEMM_GATHER(host, gemm::host_threads(), gemm::kTwoBytes)
WEFT_GEMM_SCATTER(host, gemm::host_threads(), gemm::kTwoBytes)
WEFT_GEMM_ONE_KERNEL(host, gemm::host_threads(), gemm::kTwoBytes)

#undef WEFT_GEMM_STORE
#undef WEFT_GEMM_GATHER
#undef WEFT_GEMM_SCATTER
#undef WEFT_GEMM_ONE_KERNEL
