// Checks of the arguments of a GEMM; `who` is the operator that reports.
#pragma once

#include <weft/kernels/gemm.hpp>

namespace weft::kernels::gemm {

// The problem with its strides filled in. Operators without scales do not take e4m3.
Result<GemmProblem> checked(const char* who, GemmProblem problem, bool has_scales = false);
Status check_options(const char* who, const GemmOptions& options);
Status check_pointer(const char* who, const char* name, const void* pointer);

}  // namespace weft::kernels::gemm
