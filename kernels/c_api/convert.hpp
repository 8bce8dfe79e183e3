// Arguments from C as C++ has them. An operator with a problem or options of its own adds a from_c
// here.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <weft/kernels.h>
#include <weft/kernels/ag_gemm.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/kernels/gemm_ar.hpp>
#include <weft/kernels/gemm_rs.hpp>
#include <weft/kernels/table.hpp>

#include "kernels/core/status.hpp"

namespace weft::kernels::c_api {

// C's enumerations are those of C++, by number.
static_assert(WEFT_INTERNAL == static_cast<int>(Code::kInternal));
static_assert(WEFT_FLOAT8_E4M3 == static_cast<int>(DType::kFloat8E4m3));
static_assert(WEFT_MIN == static_cast<int>(ReduceOp::kMin));
static_assert(WEFT_MAX == static_cast<int>(ReduceOp::kMax));
static_assert(WEFT_GEMM_CUBLAS == static_cast<int>(GemmBackend::kCublas));
static_assert(WEFT_GEMM_OVERLAPPED == static_cast<int>(AgGemmAlgorithm::kOverlapped));
static_assert(WEFT_GEMM_OVERLAPPED == static_cast<int>(GemmRsAlgorithm::kOverlapped));
static_assert(WEFT_GEMM_OVERLAPPED == static_cast<int>(GemmArAlgorithm::kOverlapped));
static_assert(WEFT_GEMM_ONE_KERNEL == static_cast<int>(GemmRsAlgorithm::kOneKernel));
static_assert(WEFT_GEMM_ONE_KERNEL == static_cast<int>(GemmArAlgorithm::kOneKernel));

// A number that no byte holds is none of the enumeration either, and 255 is refused as such.
template <class Enum>
Enum enum_from_c(int value) {
  return static_cast<Enum>(value >= 0 && value < 255 ? value : 255);
}

// By C's numbers. Algorithms that the library does not have of itself are named in tables.
inline constexpr std::array kAlgorithms = {Algorithm::kAuto,
                                           Algorithm::kLL,
                                           Algorithm::kTwoShotLL,
                                           Algorithm::kSimple,
                                           Algorithm::kScatteredSimple,
                                           Algorithm::kLamport,
                                           Algorithm::kTwoShotLamport,
                                           Algorithm::kZeroCopy};
static_assert(kAlgorithms[WEFT_SCATTERED_SIMPLE] == Algorithm::kScatteredSimple);
static_assert(kAlgorithms[WEFT_TWO_SHOT_LAMPORT] == Algorithm::kTwoShotLamport);
static_assert(kAlgorithms[WEFT_ZERO_COPY] == Algorithm::kZeroCopy);

inline Algorithm algorithm_from_c(int value) {
  const bool is_known = value >= 0 && value < static_cast<int>(kAlgorithms.size());
  return is_known ? kAlgorithms[static_cast<std::size_t>(value)] : Algorithm("no algorithm");
}
// -1: C has no number for it.
inline int algorithm_to_c(const Algorithm& algorithm) {
  const auto* const found = std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm);
  return found == kAlgorithms.end() ? -1 : static_cast<int>(found - kAlgorithms.begin());
}

inline Result<CollectiveProblem> from_c(const weft_collective_problem& c) {
  return CollectiveProblem{c.max_count, enum_from_c<DType>(c.dtype), enum_from_c<ReduceOp>(c.op)};
}
inline Result<AllReduceNormProblem> from_c(const weft_all_reduce_norm_problem& c) {
  return AllReduceNormProblem{c.max_rows, c.hidden, enum_from_c<DType>(c.dtype), c.epsilon};
}
inline Result<GemmProblem> from_c(const weft_gemm_problem& c) {
  return GemmProblem{c.m, c.n, c.k, enum_from_c<DType>(c.dtype), c.lda, c.ldb, c.ldc};
}

inline Result<CollectiveOptions> from_c(const weft_collective_options& c) {
  CollectiveOptions made;
  made.algorithm = algorithm_from_c(c.algorithm);
  made.blocks = c.blocks;
  made.threads = c.threads;
  made.symmetric = c.symmetric != 0;
  if (c.table != nullptr) {
    ASSIGN_OR_RETURN(made.table, read_table(c.table));
  }
  return made;
}
inline Result<GemmOptions> from_c(const weft_gemm_options& c) {
  return GemmOptions{enum_from_c<GemmBackend>(c.backend), c.num_sms,
                     c.tile != nullptr ? c.tile : "", c.constant_b != 0};
}
template <class Algorithm>
Result<Algorithm> gemm_algorithm(int value, weft_gemm_algorithm last = WEFT_GEMM_OVERLAPPED) {
  if (value >= WEFT_GEMM_BEST && value <= last) return static_cast<Algorithm>(value);
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("options.algorithm is {}; it has to be a weft_gemm_algorithm, {} to {}", value,
                  static_cast<int>(WEFT_GEMM_BEST), static_cast<int>(last)));
}
inline Result<AgGemmOptions> from_c(const weft_ag_gemm_options& c) {
  ASSIGN_OR_RETURN(const auto algorithm, gemm_algorithm<AgGemmAlgorithm>(c.algorithm));
  ASSIGN_OR_RETURN(GemmOptions gemm, from_c(c.gemm));
  return AgGemmOptions{algorithm, c.push_blocks, std::move(gemm)};
}
inline Result<GemmRsOptions> from_c(const weft_gemm_rs_options& c) {
  ASSIGN_OR_RETURN(const auto algorithm,
                   gemm_algorithm<GemmRsAlgorithm>(c.algorithm, WEFT_GEMM_ONE_KERNEL));
  ASSIGN_OR_RETURN(GemmOptions gemm, from_c(c.gemm));
  return GemmRsOptions{algorithm, std::move(gemm)};
}
inline Result<GemmArOptions> from_c(const weft_gemm_ar_options& c) {
  ASSIGN_OR_RETURN(const auto algorithm,
                   gemm_algorithm<GemmArAlgorithm>(c.algorithm, WEFT_GEMM_ONE_KERNEL));
  ASSIGN_OR_RETURN(GemmOptions gemm, from_c(c.gemm));
  return GemmArOptions{algorithm, std::move(gemm)};
}

}  // namespace weft::kernels::c_api
