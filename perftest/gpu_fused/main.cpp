// weft-gpu-fused: operators that move rows beside a matrix product, beside cuBLASLt and NCCL one
// after the other.
//
//   weft-run -n 2 weft-gpu-fused       PEs are processes
//   weft-gpu-fused --pes 2             PEs are threads
//     --vs LIST                        peers: nccl,cublas (all that are found), one, or none
//     --nccl FILE                      libnccl.so.2 by default
//     --what ag|rs|ar                  one kind of rows: AgGemm, GemmRs, GemmAr
//     --algorithm NAME --blocks N --tile NAME   options of the operator; "" and 0: its plan's
//     --rounds N --pause MS            turns of each, 5; and what the GPU rests before a graph, 20
//     M N K ...                        shapes of one's own
//
// Elements are bfloat16, random normal numbers. A time is that of one call of many in a CUDA graph,
// the median of turns, on the slowest PE; what is compared takes turns. Data is checked against
// cuBLASLt and then NCCL, and some elements of sums against what they are in double: those too far
// apart, since both round. Speedup: the time of cuBLASLt after NCCL over the operator's: the
// fastest of cuBLASLt's algorithms, and NCCL on plain buffers or in its symmetric windows, where it
// is faster, in one graph. Efficiency: the larger of product (the faster one) and NCCL alone, over
// the operator's.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <weft/device.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

struct Rows {
  const char* name;
  Status (*run)(Bench& bench);
};
constexpr Rows kRows[] = {{"ag", ag_rows}, {"rs", rs_rows}, {"ar", ar_rows}};

constexpr const char* kUsage =
    "usage: [weft-run -n N] weft-gpu-fused [--pes N] [--vs nccl,cublas|none] [--nccl FILE] "
    "[--what ag|rs|ar] [--algorithm NAME] [--blocks N] [--tile NAME] [--rounds N] [--pause MS] [M "
    "N K]...";

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--pes" && more) {
      settings.pes = std::atoi(argv[++i]);
    } else if (word == "--nccl" && more) {
      settings.nccl = argv[++i];
    } else if (word == "--vs" && more && peers_named(argv[i + 1])) {
      settings.peers = *peers_named(argv[++i]);
    } else if (word == "--what" && more) {
      settings.what = argv[++i];
    } else if (word == "--algorithm" && more) {
      settings.algorithm = argv[++i];
    } else if (word == "--tile" && more) {
      settings.tile = argv[++i];
    } else if (word == "--blocks" && more) {
      settings.blocks = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (word == "--rounds" && more) {
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--pause" && more) {
      settings.pause_ms = std::max(0, std::atoi(argv[++i]));
    } else if (i + 2 < argc && std::atoi(argv[i]) > 0) {
      settings.shapes.push_back(
          {"", std::atoi(argv[i]), std::atoi(argv[i + 1]), std::atoi(argv[i + 2])});
      i += 2;
    } else {
      return Status::error(Code::kInvalidArgument, kUsage);
    }
  }
  return settings;
}

Status run_pe(Runtime& rt, const Settings& settings) {
  if (rt.gpu() < 0) return Status::error(Code::kUnsupported, "a PE has no GPU; weft-info says why");
  ASSIGN_OR_RETURN(Bench bench, Bench::create(rt, settings));
  for (const Rows& rows : kRows)
    if (settings.what.empty() || settings.what == rows.name) RETURN_IF_ERROR(rows.run(bench));
  return Status::ok();
}

Status run(int argc, char** argv) {
  Settings settings;
  ASSIGN_OR_RETURN(settings, parse(argc, argv));
  ASSIGN_OR_RETURN(const Options options, Options::from_environment());
  const auto body = [&](Runtime& rt) { return run_pe(rt, settings); };
  if (settings.pes > 0) return run_local(settings.pes, body, options);
  ASSIGN_OR_RETURN(Runtime rt, Runtime::create(options));
  return body(rt);
}

}  // namespace
}  // namespace weft::perf::fused

int main(int argc, char** argv) {
  const weft::Status status = weft::perf::fused::run(argc, argv);
  if (status.is_ok()) return 0;
  std::fprintf(stderr, "weft-gpu-fused: %s\n", status.to_string().c_str());
  return status.code() == weft::Code::kInvalidArgument ? 2 : 1;
}
