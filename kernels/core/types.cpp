#include <weft/kernels/types.hpp>

namespace weft::kernels {

std::size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kFloat16:
    case DType::kBfloat16: return 2;
    case DType::kUint8:
    case DType::kFloat8E4m3: return 1;
  }
  return 0;
}

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat16: return "float16";
    case DType::kBfloat16: return "bfloat16";
    case DType::kInt32: return "int32";
    case DType::kUint8: return "uint8";
    case DType::kFloat8E4m3: return "float8_e4m3";
  }
  return "no type";
}

}  // namespace weft::kernels
