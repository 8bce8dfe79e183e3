#include "perftest/programs.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace weft::perf {
namespace {

struct Program {
  const char *name, *file;
};
constexpr Program kPrograms[] = {{"tune", "weft-tune"},
                                 {"kernels", "weft-gpu-kernels"},
                                 {"gemm", "weft-gpu-gemm"},
                                 {"fused", "weft-gpu-fused"}};

}  // namespace

std::optional<int> run_subcommand(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  for (const Program& program : kPrograms) {
    if (std::string_view(argv[1]) != program.name) continue;
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    const std::string path = (here / program.file).string();
    execv(path.c_str(), argv + 1);
    fmt::print(stderr,
               "weft-perf {}: {} cannot be run: {}; programs for GPUs are built with "
               "-DWEFT_CUDA=ON, into the folder of weft-perf\n",
               program.name, path, std::strerror(errno));
    return 2;
  }
  return std::nullopt;
}

}  // namespace weft::perf
