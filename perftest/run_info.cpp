#include "perftest/run_info.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include <weft/version.hpp>

#include "perftest/pin.hpp"

#ifndef WEFT_PERF_BUILD_TYPE
#define WEFT_PERF_BUILD_TYPE "unknown"
#endif

namespace weft::perf {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::string_view kSanitizer = "ThreadSanitizer";
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::string_view kSanitizer = "AddressSanitizer";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::string_view kSanitizer = "ThreadSanitizer";
#elif __has_feature(address_sanitizer)
constexpr std::string_view kSanitizer = "AddressSanitizer";
#else
constexpr std::string_view kSanitizer;
#endif
#else
constexpr std::string_view kSanitizer;
#endif

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (const auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return "unknown CPU";
}

std::vector<std::string> warnings(const Job& job, int cores) {
  std::vector<std::string> texts;
  if (std::string_view(WEFT_PERF_BUILD_TYPE) != "Release")
    texts.push_back(
        fmt::format("this is a {} build: times mean little (cmake --preset cpu-release)",
                    WEFT_PERF_BUILD_TYPE));
  if (!kSanitizer.empty())
    texts.push_back(fmt::format("built with {}: times mean nothing", kSanitizer));
  if (job.npes() > cores)
    texts.push_back(
        fmt::format("{} PEs share {} cores: waits include waiting for a core", job.npes(), cores));
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > cores + 0.5)
    texts.push_back(fmt::format("load average is {:.1f} on {} cores: others run here, times waver",
                                load, cores));
  return texts;
}

}  // namespace

RunInfo describe_run(const Job& job) {
  const Options& options = job.options();
  RunInfo info;
  info.version = WEFT_VERSION;
  info.build = WEFT_PERF_BUILD_TYPE;
  info.compiler = kCompiler;
  info.cpu = cpu_model();
  info.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.mode = options.pes != 0 ? "threads" : "processes";
  info.pes = job.npes();
  info.blocks = options.blocks;
  info.threads = options.threads;
  info.bidir = options.bidir;
  info.pinned = own_core(job) >= 0;
  info.seed = job.seed();
  info.warnings = warnings(job, info.cores);
  return info;
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");  // "TOTAL RESIDENT ...", in pages
  std::string text;
  std::getline(file, text);
  std::uint64_t resident = 0;
  const std::size_t at = text.find(' ') + 1;
  std::from_chars(text.data() + at, text.data() + text.size(), resident);
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace weft::perf
