// On GPUs: the kernel of kernel.ll, linked with the bitcode library. Its PTX is the argument;
// check_library.py makes it.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/gpu_pass.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "bitcode_gpu_test KERNEL.ptx\n");
    return 2;
  }
  if (!weft::finds_gpu(weft::gpu::Kind::kCuda)) return weft::kSkipped;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const weft::Status status = weft::run_pass(image, weft::ContextBy::kPointer);
  std::printf("%s: %s\n", argv[1], status.to_string().c_str());
  return status ? 0 : 1;
}
