#include "kernels/gemm/tensor_map_sm90.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/shape_sm90.hpp"

namespace weft::kernels::gemm {

Result<Encode*> find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  RETURN_IF_FAILED("looking for cuTensorMapEncodeTiled",
                   cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                    cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    return Status::error(
        Code::kUnsupported,
        "Gemm: the driver has no cuTensorMapEncodeTiled; it has to be that of CUDA "
        "12.0 or later");
  }
  return reinterpret_cast<Encode*>(function);
}

Status TensorMaps::get(const MatrixView& view, CUtensorMap* map) {
  for (const Entry& entry : entries_) {
    if (entry.view == view) {
      *map = entry.map;
      return Status::ok();
    }
  }
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(view.columns),
                              static_cast<cuuint64_t>(view.rows),
                              static_cast<cuuint64_t>(view.segments)};
  const cuuint64_t row_bytes = static_cast<cuuint64_t>(view.stride) * bytes_of(dtype_);
  const cuuint64_t strides[] = {
      row_bytes, (view.apart != 0 ? static_cast<cuuint64_t>(view.apart) : sizes[1]) * row_bytes};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(view.box_columns),
                            static_cast<cuuint32_t>(view.box_rows), 1};
  const cuuint32_t every[] = {1, 1, 1};
  const CUtensorMapSwizzle swizzle = view.box_columns == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : view.box_columns == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : view.box_columns == 16 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                              : CU_TENSOR_MAP_SWIZZLE_NONE;
  Entry& entry = entries_[next_];
  entry.view = {};
  const CUresult result = encode_(
      &entry.map,
      dtype_ == DType::kBfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      3, const_cast<void*>(view.data), sizes, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return Status::error(
        Code::kInternal,
        fmt::format(
            "Gemm: cuTensorMapEncodeTiled: error {} for a matrix of {} x {} x {} at {}, rows "
            "every {} elements",
            static_cast<int>(result), view.segments, view.rows, view.columns, fmt::ptr(view.data),
            view.stride));
  }
  entry.view = view;
  next_ = (next_ + 1) % static_cast<unsigned>(entries_.size());
  *map = entry.map;
  return Status::ok();
}

Status TensorMaps::operands(const GemmProblem& p, const OperandViews& views,
                            sm90::Operands* operands) {
  const int n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  operands->rows_a = std::min(views.tile_m, ceil_div(views.m, 8) * 8);
  RETURN_IF_ERROR(
      get({views.a, views.segments, views.m, k, p.lda, operands->rows_a, sm90::kKBlock},
          &operands->a));
  return get({views.b, 1, n, k, p.ldb, views.box_b, sm90::kKBlock}, &operands->b);
}

}  // namespace weft::kernels::gemm
