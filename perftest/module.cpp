#include "perftest/module.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <weft/version.hpp>

namespace weft::perf {
namespace {

struct Known {
  std::string_view name, holds;
  bool needs_cuda;
};
constexpr Known kKnown[] = {
    {"cuda", "the device API on GPUs (sets gpu, gpu_ring, gpu_start)", true},
    {"kernels", "operators and their tuning (sets collectives, gemm, fused, tune)", false}};

template <class Function>
Function* find(void* library, const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(library, name.c_str()));
}

// A library's, or those of the program itself, into which static builds link their modules.
Result<Module> contents(const Known& known, void* library, const std::string& path) {
  const auto version =
      find<const char*()>(library, fmt::format("weft_perf_{}_version", known.name));
  const auto fill = find<void(Module&)>(library, fmt::format("weft_perf_{}_module", known.name));
  if (version == nullptr || fill == nullptr || version() != std::string_view(WEFT_VERSION))
    return Status::error(
        Code::kVersionMismatch,
        fmt::format("{} is not of weft-perf " WEFT_VERSION ": install both of one build", path));
  Module made;
  fill(made);
  return made;
}

Result<Module> open(const Known& known, const std::vector<std::string>& folders) {
  if (auto linked = contents(known, RTLD_DEFAULT, "weft-perf")) return linked;
  const std::string file = fmt::format("libweft_perf_{}.so", known.name);
  for (const std::string& folder : folders) {
    const std::string path = fmt::format("{}/{}", folder, file);
    if (!std::filesystem::exists(path)) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Status::error(Code::kIo, dlerror());
    return contents(known, library, path);
  }
  return Status::error(Code::kIo,
                       fmt::format("{} is not in {}{}", file, fmt::join(folders, " or "),
                                   known.needs_cuda ? "; it is built with -DWEFT_CUDA=ON" : ""));
}

}  // namespace

std::vector<Row> Modules::rows() const {
  std::vector<Row> all;
  for (const Module& module : found) all.insert(all.end(), module.rows.begin(), module.rows.end());
  return all;
}

std::string Modules::notes() const {
  std::string text;
  for (const std::string& line : missing) text += fmt::format("Not here: {}.\n", line);
  for (const Module& module : found)
    if (const std::string why = module.cannot_run(); !why.empty())
      text += fmt::format("Cannot run here: {}.\n", why);
  return text;
}

Modules open_modules(const std::vector<std::string>& folders,
                     const std::function<bool(const std::vector<Row>&)>& are_enough) {
  Modules all;
  for (const Known& known : kKnown) {
    if (are_enough(all.rows())) break;
    auto module = open(known, folders);
    if (module)
      all.found.push_back(*std::move(module));
    else
      all.missing.push_back(fmt::format("{}: {}", known.holds, module.status().text()));
  }
  return all;
}

std::vector<std::string> module_folders() {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> folders;
  for (const std::string_view lib : {WEFT_PERF_LIBDIR, "lib"}) {
    // An absolute folder stands for itself.
    const std::string folder = (here.parent_path() / lib / "weft").lexically_normal().string();
    if (folders.empty() || folders.back() != folder) folders.push_back(folder);
  }
  return folders;
}

}  // namespace weft::perf
