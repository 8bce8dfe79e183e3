// The back ends of the GEMM, a row each, by what becomes of a finished tile (the epilogue), the
// architecture and the types of a and b. A call goes to the first row that fits and does not refuse
// it; so of several for one GPU, the fastest stands first.
//
//   WEFT_GEMM_STORE(name, architectures, dtypes)      C = A * B^T (backend.hpp)
//
// Such a row declares make_NAME(), which a file backend_NAME.cpp beside this one defines, or
// backend_NAME.cu (names of files for one vendor's GPUs end in _smNN or _cuda). Without a row of
// their own, the fused operators do one thing after the other: so a new architecture begins with
// one file and one row.

#if defined(WEFT_HAS_CUDA_KERNELS)
WEFT_GEMM_STORE(sm90, gpus(90, 90), kTwoBytes | kE4m3)
WEFT_GEMM_STORE(cublas, gpus(0), kTwoBytes)
WEFT_GEMM_STORE(sm80, gpus(80), kTwoBytes)
#endif
WEFT_GEMM_STORE(host, host_threads(), kTwoBytes | kE4m3)

#undef WEFT_GEMM_STORE
