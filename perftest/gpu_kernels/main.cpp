// weft-gpu-kernels: collective operators beside NCCL, in one process, turn by turn.
//
//   weft-run -n 2 weft-gpu-kernels     PEs are processes
//   weft-gpu-kernels --pes 2           PEs are threads
//     --nccl FILE                      libnccl.so.2 by default; none: alone
//     --what NAME                      AllReduce, AllGather, ReduceScatter, AllToAll, AllToAllV,
//                                      Broadcast or AllReduceNorm
//     --algorithm NAME                 one of weft/kernels/plan.hpp, as "ll", for all sizes
//     --memory symmetric|plain         Weft's buffers; symmetric by default
//     --blocks N --threads N           of the grid, for all sizes
//     --from BYTES --to BYTES          sizes: powers of two; 8 to 134217728 by default
//     --hidden N                       of an AllReduceNorm, a multiple of 8; or 5120 and 8192
//
// Each PE has a GPU. A time is that of one call of many in a CUDA graph, the median of turns, on PE
// 0. Elements are bfloat16. `bytes` is what an operator's count is of: the whole of an AllReduce or
// a Broadcast, one member's part of the others. busbw, in GB/s, is what each GPU sends at least:
//   AllReduce and AllReduceNorm 2 (n-1)/n bytes / time; Broadcast bytes / time; the others (n-1)
//   bytes / time.
// Weft's buffers are symmetric memory. NCCL's time is the shorter one of buffers of any memory and
// of such in its symmetric windows, where it has them. Beside an AllReduceNorm its AllReduce runs,
// and then a kernel that adds the residual and norms; beside an AllToAllV, whose counts only the
// GPUs know, sends and receives of counts that NCCL is told.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "perftest/gpu_kernels/bench.hpp"

namespace weft::perf::kernels {
namespace {

constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kAllToAll,
                               Collective::kAllToAllV,     Collective::kBroadcast,
                               Collective::kAllReduceNorm};

Status run_pe(Runtime& rt, const Choices& choices) {
  if (rt.gpu() < 0)
    return Status::error(Code::kUnsupported,
                         "weft-gpu-kernels: a PE has no GPU; weft-info says why");
  ASSIGN_OR_RETURN(Bench bench, Bench::create(rt, choices));
  for (const Collective what : kAll) {
    if (choices.what && *choices.what != what) continue;
    Status status;
    switch (what) {
      case Collective::kAllReduce: status = bench.rows<weft::kernels::AllReduce>(what); break;
      case Collective::kAllGather: status = bench.rows<weft::kernels::AllGather>(what); break;
      case Collective::kReduceScatter:
        status = bench.rows<weft::kernels::ReduceScatter>(what);
        break;
      case Collective::kAllToAll: status = bench.rows<weft::kernels::AllToAll>(what); break;
      case Collective::kBroadcast: status = bench.rows<weft::kernels::Broadcast>(what); break;
      case Collective::kAllReduceNorm: status = bench.norms(); break;
      case Collective::kAllToAllV: status = bench.rows_by_counts(); break;
    }
    RETURN_IF_ERROR(status);
  }
  return Status::ok();
}

Status run(const Choices& choices) {
  ASSIGN_OR_RETURN(const Options options, Options::from_environment());
  const auto body = [&](Runtime& rt) { return run_pe(rt, choices); };
  if (choices.pes > 0) return run_local(choices.pes, body, options);
  ASSIGN_OR_RETURN(Runtime rt, Runtime::create(options));
  return body(rt);
}

std::optional<Choices> parse(int argc, char** argv) {
  Choices choices;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    const auto number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "--pes") {
      choices.pes = static_cast<int>(number);
    } else if (name == "--nccl") {
      choices.nccl = value;
    } else if (name == "--vs") {
      const auto peers = peers_named(value);
      if (!peers) return std::nullopt;
      choices.peers = *peers;
    } else if (name == "--what") {
      for (const Collective what : kAll)
        if (value == to_string(what)) choices.what = what;
      if (!choices.what) return std::nullopt;
    } else if (name == "--algorithm") {
      for (const Algorithm a :
           {Algorithm::kLL, Algorithm::kTwoShotLL, Algorithm::kSimple, Algorithm::kScatteredSimple,
            Algorithm::kLamport, Algorithm::kTwoShotLamport, Algorithm::kZeroCopy})
        if (value == to_string(a)) choices.options.algorithm = a;
      if (choices.options.algorithm == Algorithm::kAuto) return std::nullopt;
    } else if (name == "--memory" && (value == "symmetric" || value == "plain")) {
      choices.symmetric = value == "symmetric";
    } else if (name == "--blocks") {
      choices.options.blocks = static_cast<unsigned>(number);
    } else if (name == "--threads") {
      choices.options.threads = static_cast<unsigned>(number);
    } else if (name == "--hidden" && number >= 8 && number % 8 == 0) {
      choices.hidden = {number};
    } else if (name == "--from" && number >= 2) {
      choices.from = number;
    } else if (name == "--to" && number >= 2) {
      choices.to = number;
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0) return std::nullopt;
  return choices;
}

}  // namespace
}  // namespace weft::perf::kernels

int main(int argc, char** argv) {
  const auto choices = weft::perf::kernels::parse(argc, argv);
  if (!choices) {
    std::fprintf(
        stderr,
        "usage: [weft-run -n N] weft-gpu-kernels [--pes N] [--vs nccl|none] [--nccl FILE] [--what "
        "NAME] "
        "[--algorithm NAME] [--memory symmetric|plain] [--blocks N] [--threads N] [--from BYTES] "
        "[--to BYTES] [--hidden N]\n");
    return 2;
  }
  const weft::Status status = weft::perf::kernels::run(*choices);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.is_ok() ? 0 : 1;
}
