// Models: what the kernels of a GemmRs or a GemmAr have of the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>

#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_target.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_target.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_rs {

struct Models {
  DeviceModel one_kernel, overlapped;

  std::vector<std::uint64_t> measures() const {
    std::vector<std::uint64_t> both = fused::measures_of(one_kernel);
    const std::vector<std::uint64_t> second = fused::measures_of(overlapped);
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }
};

// The current GPU's. On hosts nothing depends on them.
inline Result<Models> own_models([[maybe_unused]] const fused::Setting& setting) {
  Models models;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (setting.gpu) {
    ASSIGN_OR_RETURN(models.one_kernel, one_kernel_device_model(setting.options));
    ASSIGN_OR_RETURN(models.overlapped, overlapped_device_model(setting.options));
  }
#endif
  return models;
}
// The least of all PEs'.
inline Models agreed_models(const Agreement& agreement) {
  return {fused::model_of(agreement, 0), fused::model_of(agreement, 1)};
}

}  // namespace weft::kernels::gemm_rs
