#include "kernels/gemm/backend.hpp"

#include <array>

#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"

namespace weft::kernels::gemm {

using Make = Result<std::unique_ptr<Backend>>(const GemmProblem&, const GemmOptions&);

#define WEFT_GEMM_STORE(name, architectures, dtypes) Make make_##name;
#include "kernels/gemm/backends.def.hpp"

namespace {

constexpr auto kRows = std::to_array<BackendRow<Make>>({
#define WEFT_GEMM_STORE(name, architectures, dtypes) {#name, architectures, dtypes, &make_##name},
#include "kernels/gemm/backends.def.hpp"
});

std::string number_of(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}
std::string text_of(const Device& device) {
  if (device.target == Target::kCpu) return "host threads";
  return "a GPU of compute capability " + number_of(device.capability);
}

}  // namespace

std::string text_of(const Architectures& architectures, DTypes dtypes) {
  std::string text = "host threads";
  if (architectures.target == Target::kCuda) {
    text = "compute capability " + number_of(architectures.first);
    if (architectures.last != architectures.first) text += " and later";
  }
  const char* separator = "; ";
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if ((dtypes & bit_of(dtype)) == 0) continue;
    text += separator + std::string(to_string(dtype));
    separator = ", ";
  }
  return text;
}

Status no_backend(const char* who, const Device& device, DType dtype, const std::string& refusals) {
  return Status::error(Code::kUnsupported,
                       fmt::format("{}: no back end for {} on {} with these options{}", who,
                                   to_string(dtype), text_of(device), refusals));
}

#if !defined(WEFT_HAS_CUDA_KERNELS)
Result<Device> current_device(Target target) { return Device{target}; }
#endif

Result<std::unique_ptr<Backend>> make_backend(Target target, const GemmProblem& problem,
                                              const GemmOptions& options) {
  ASSIGN_OR_RETURN(const Device device, current_device(target));
  return make_by_first("Gemm", kRows, device, problem.dtype, problem, options);
}

}  // namespace weft::kernels::gemm
