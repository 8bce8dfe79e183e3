// A program that knows weft::kernels only from where it was installed.
#include <cstdio>

#include <weft/kernels/types.hpp>

int main() {
  using weft::kernels::DType;
  std::printf("%s: %zu bytes\n", to_string(DType::kBfloat16), bytes_of(DType::kBfloat16));
  return bytes_of(DType::kBfloat16) == 2 ? 0 : 1;
}
