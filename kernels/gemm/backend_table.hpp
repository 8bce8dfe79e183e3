// The table of back ends (backends.def.hpp) as operators read it: which row makes the back end of a
// problem on this device.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <weft/kernels/types.hpp>
#include <weft/result.hpp>

#include "kernels/core/target.hpp"

namespace weft::kernels::gemm {

// The device that a call runs on.
struct Device {
  Target target = Target::kCpu;
  int capability = 0;  // of a GPU; 90: compute capability 9.0
};
// The current GPU, for Target::kCuda.
Result<Device> current_device(Target target);

// The devices that a back end is for: host threads, or GPUs of compute capability first to last.
struct Architectures {
  Target target;
  int first, last;
  constexpr bool has(const Device& device) const {
    return device.target == target && first <= device.capability && device.capability <= last;
  }
};
constexpr Architectures host_threads() { return {Target::kCpu, 0, 0}; }
constexpr Architectures gpus(int first, int last = INT_MAX) { return {Target::kCuda, first, last}; }

// Types of a and b, a bit each.
using DTypes = unsigned;
constexpr DTypes bit_of(DType dtype) { return 1u << static_cast<unsigned>(dtype); }
inline constexpr DTypes kBfloat16 = bit_of(DType::kBfloat16), kFloat16 = bit_of(DType::kFloat16);
inline constexpr DTypes kTwoBytes = kBfloat16 | kFloat16, kE4m3 = bit_of(DType::kFloat8E4m3);

template <class Make>
struct BackendRow {
  const char* name;
  Architectures architectures;
  DTypes dtypes;
  Make* make;  // kUnsupported: not this problem, or not here; the next row that fits is asked

  constexpr bool fits(const Device& device, DType dtype) const {
    return architectures.has(device) && (dtypes & bit_of(dtype)) != 0;
  }
};

// "compute capability 9.0; bfloat16, float16"
std::string text_of(const Architectures& architectures, DTypes dtypes);
// `refusals`: what each row says.
Status no_backend(const char* who, const Device& device, DType dtype, const std::string& refusals);

// Asks row after row that fits, and returns what the first of them makes that does not refuse.
template <class Make, std::size_t kRows, class... Arguments>
auto make_by_first(const char* who, const std::array<BackendRow<Make>, kRows>& rows,
                   const Device& device, DType dtype, const Arguments&... arguments)
    -> decltype(rows[0].make(arguments...)) {
  std::string refusals;
  for (const BackendRow<Make>& row : rows) {
    std::string why = "is for " + text_of(row.architectures, row.dtypes);
    if (row.fits(device, dtype)) {
      auto made = row.make(arguments...);
      if (!made.status().is(Code::kUnsupported)) return made;
      why = made.status().text();
    }
    refusals += fmt::format("; {}: {}", row.name, why);
  }
  return no_backend(who, device, dtype, refusals);
}

}  // namespace weft::kernels::gemm
