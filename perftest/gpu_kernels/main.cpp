// weft-gpu-kernels: collective operators beside NCCL, in one process, turn by turn.
//
//   weft-run -n 2 weft-gpu-kernels     PEs are processes
//   weft-gpu-kernels --pes 2           PEs are threads
//     --nccl FILE                      libnccl.so.2 by default; none: alone
//     --what NAME                      AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast or
//                                      AllReduceNorm
//     --algorithm NAME                 packets, two-shot-packets, bulk or scattered-bulk, for all
//                                      sizes
//     --blocks N --threads N           of the grid, for all sizes
//     --from BYTES --to BYTES          sizes: powers of two; 8 to 134217728 by default
//     --hidden N                       of an AllReduceNorm's rows, a multiple of 8; 8192 by default
//
// Each PE has a GPU. A time is that of one call of many in a CUDA graph, the median of turns, on PE
// 0. Elements are bfloat16. `bytes` is what an operator's count is of: the whole of an AllReduce or
// a Broadcast, one member's part of the others. busbw, in GB/s, is what each GPU sends at least:
//   AllReduce and AllReduceNorm 2 (n-1)/n bytes / time; Broadcast bytes / time; the others (n-1)
//   bytes / time.
// Beside an AllReduceNorm NCCL's AllReduce runs, and then a kernel that adds the residual and
// norms.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "perftest/gpu_kernels/graph.hpp"
#include "perftest/gpu_kernels/nccl.hpp"
#include "perftest/gpu_kernels/norm.hpp"
#include "perftest/status.hpp"

namespace weft::perf::kernels {
namespace {

using weft::kernels::Algorithm;
using weft::kernels::Collective;
using weft::kernels::CollectiveOptions;
using weft::kernels::CollectiveProblem;
using weft::kernels::DType;

constexpr float kEpsilon = 1e-6f;
constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kAllToAll,
                               Collective::kBroadcast,     Collective::kAllReduceNorm};

struct Choices {
  int pes = 0;  // as threads; 0: this process is one
  std::string nccl = "libnccl.so.2";
  std::optional<Collective> what;
  CollectiveOptions options;
  std::size_t from = 8, to = std::size_t{128} << 20, hidden = 8192;
};

class Bench {
 public:
  static Result<Bench> create(Runtime& rt, const Choices& choices) {
    Bench made(rt, choices);
    RETURN_IF_ERROR(dev::create_stream(&made.stream_));
    const std::size_t most = choices.to * static_cast<std::size_t>(rt.npes());
    RETURN_IF_ERROR(of(cudaMalloc(&made.in_, most)));
    RETURN_IF_ERROR(of(cudaMalloc(&made.out_, most)));
    const std::vector<Bfloat16> mine(most / sizeof(Bfloat16),
                                     Bfloat16(static_cast<float>(rt.pe() + 1)));
    RETURN_IF_ERROR(of(cudaMemcpy(made.in_, mine.data(), most, cudaMemcpyHostToDevice)));
    if (choices.nccl == "none") return made;
    auto nccl = Nccl::create(rt, choices.nccl);
    if (nccl)
      made.nccl_ = *nccl;
    else if (rt.pe() == 0)
      std::printf("without NCCL: %s\n", nccl.status().text());
    return made;
  }

  template <class Op>
  Status rows(Collective what) {
    const CollectiveProblem problem{choices_->to / sizeof(Bfloat16), DType::kBfloat16};
    auto made = Op::create(*rt_, problem, choices_->options);
    if (!made) return made.status();
    Op op = std::move(*made);
    print_head(what, op.workspace_bytes(), "NCCL us");
    for (std::size_t bytes = choices_->from; bytes <= choices_->to; bytes *= 2)
      RETURN_IF_ERROR(row(what, bytes, op));
    return rt_->barrier();
  }

  // Sizes of whole rows only. Every PE has pe + 1 everywhere, and a residual of zeros.
  Status norms() {
    const std::size_t row = choices_->hidden * sizeof(Bfloat16);
    ASSIGN_OR_RETURN(auto norm, weft::kernels::AllReduceNorm::create(
                                    *rt_,
                                    {std::max<std::size_t>(choices_->to / row, 1), choices_->hidden,
                                     DType::kBfloat16, kEpsilon},
                                    choices_->options));
    std::byte *residual, *sums, *weight;
    for (std::byte** const memory : {&residual, &sums, &weight}) {
      RETURN_IF_ERROR(of(cudaMalloc(memory, choices_->to)));
      RETURN_IF_ERROR(of(cudaMemset(*memory, 0, choices_->to)));
    }
    const std::vector<Bfloat16> ones(choices_->hidden, Bfloat16(1.0f));
    RETURN_IF_ERROR(of(cudaMemcpy(weight, ones.data(), row, cudaMemcpyHostToDevice)));
    print_head(Collective::kAllReduceNorm, norm.workspace_bytes(), "NCCL+ us");
    for (std::size_t rows = 1; rows * row <= choices_->to; rows *= 2)
      if (rows * row >= choices_->from)
        RETURN_IF_ERROR(norm_row(norm, rows, residual, sums, weight));
    for (std::byte* const memory : {residual, sums, weight}) RETURN_IF_ERROR(of(cudaFree(memory)));
    return rt_->barrier();
  }

 private:
  Bench(Runtime& rt, const Choices& choices) : rt_(&rt), choices_(&choices) {}

  Status norm_row(weft::kernels::AllReduceNorm& norm, std::size_t rows, std::byte* residual,
                  std::byte* sums, const std::byte* weight) {
    const std::size_t hidden = choices_->hidden, count = rows * hidden,
                      bytes = count * sizeof(Bfloat16);
    const int calls = bytes <= (1 << 20) ? 50 : bytes <= (16 << 20) ? 10 : 4;
    ASSIGN_OR_RETURN(const Graph weft, Graph::capture(stream_, calls, [&](Stream stream) {
                       return norm(stream, out_, sums, in_, residual, weight, rows);
                     }));
    std::vector<const Graph*> ways = {&weft};
    Graph peer;
    if (nccl_) {
      ASSIGN_OR_RETURN(peer, Graph::capture(stream_, calls, [&](Stream stream) {
                         RETURN_IF_ERROR(call_nccl(Collective::kAllReduce, stream, count));
                         return add_and_norm(stream, out_, sums, out_, residual, weight, rows,
                                             hidden, kEpsilon);
                       }));
      ways.push_back(&peer);
    }
    for (const Graph* const way : ways) {  // both warm up, and are right
      RETURN_IF_ERROR(of(cudaMemset(out_, 0xff, bytes)));
      RETURN_IF_ERROR(time(*way).status());
      RETURN_IF_ERROR(check_norm(sums, bytes));
    }
    ASSIGN_OR_RETURN(const std::vector<double> times, time_in_turns(*rt_, stream_, calls, ways));
    ASSIGN_OR_RETURN(const auto plan, norm.plan(count));
    print_row(Collective::kAllReduceNorm, bytes, times[0], nccl_ ? times[1] : 0, plan);
    return rt_->health();
  }
  // Rows of one value are normed to ones.
  Status check_norm(const std::byte* sums, std::size_t bytes) {
    const int n = rt_->npes();
    std::vector<Bfloat16> out(bytes / sizeof(Bfloat16)), sum(out.size());
    RETURN_IF_ERROR(of(cudaMemcpy(out.data(), out_, bytes, cudaMemcpyDeviceToHost)));
    RETURN_IF_ERROR(of(cudaMemcpy(sum.data(), sums, bytes, cudaMemcpyDeviceToHost)));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (static_cast<float>(out[i]) != 1.0f ||
          static_cast<float>(sum[i]) != static_cast<float>(n * (n + 1) / 2))
        return Status::error(Code::kInternal,
                             "weft-gpu-kernels: wrong data after AllReduceNorm of " +
                                 std::to_string(bytes) + " bytes, at element " + std::to_string(i));
    return Status::ok();
  }

  template <class Op>
  Status row(Collective what, std::size_t bytes, Op& op) {
    const std::size_t count = bytes / sizeof(Bfloat16);
    const int calls = bytes <= (1 << 20) ? 50 : bytes <= (16 << 20) ? 10 : 4;
    const Call mine = [&](Stream stream) {
      if constexpr (std::is_same_v<Op, weft::kernels::Broadcast>)
        return op(stream, out_, in_, count, 0);
      else
        return op(stream, out_, in_, count);
    };
    const Call theirs = [&](Stream stream) { return call_nccl(what, stream, count); };
    ASSIGN_OR_RETURN(const Graph weft, Graph::capture(stream_, calls, mine));
    Graph nccl;
    if (nccl_) {
      ASSIGN_OR_RETURN(nccl, Graph::capture(stream_, calls, theirs));
    }
    RETURN_IF_ERROR(of(cudaMemset(out_, 0xff, bytes)));
    ASSIGN_OR_RETURN(double us, time(weft));
    RETURN_IF_ERROR(check(what, bytes));
    if (nccl_) {
      ASSIGN_OR_RETURN(us, time(nccl));
    }
    std::vector<const Graph*> ways = {&weft};
    if (nccl_) ways.push_back(&nccl);
    ASSIGN_OR_RETURN(const std::vector<double> times, time_in_turns(*rt_, stream_, calls, ways));
    ASSIGN_OR_RETURN(const auto plan, op.plan(count));
    const double a = times[0], b = nccl_ ? times[1] : 0;
    print_row(what, bytes, a, b, plan);
    return rt_->health();
  }

  void print_head(Collective what, std::size_t workspace, const char* peer) const {
    if (rt_->pe() == 0)
      std::printf("%s: workspace of %.1f MiB\n%10s %10s %8s %10s %8s %7s  %s\n", to_string(what),
                  static_cast<double>(workspace) / (1 << 20), "bytes", "us", "GB/s", peer, "GB/s",
                  "ratio", "plan");
  }
  // `us` of Weft, `peer_us` of the peer; 0: none.
  void print_row(Collective what, std::size_t bytes, double us, double peer_us,
                 const weft::kernels::Plan& plan) const {
    const double moved = static_cast<double>(bytes) * share(what) / 1e3;
    if (rt_->pe() == 0)
      std::printf("%10zu %10.2f %8.1f %10.2f %8.1f %7.2f  %s\n", bytes, us, moved / us, peer_us,
                  peer_us > 0 ? moved / peer_us : 0, peer_us / us, to_string(plan).c_str());
    std::fflush(stdout);
  }

  Result<double> time(const Graph& graph) {
    RETURN_IF_ERROR(rt_->barrier());
    return graph.run(stream_);
  }

  double share(Collective what) const {
    const double n = rt_->npes();
    if (what == Collective::kAllReduce || what == Collective::kAllReduceNorm)
      return 2 * (n - 1) / n;
    return what == Collective::kBroadcast ? 1 : n - 1;
  }

  // Everywhere that rank r wrote there is r + 1, or the sum of all.
  Status check(Collective what, std::size_t bytes) {
    const bool parts = what == Collective::kAllGather || what == Collective::kAllToAll;
    const std::size_t count = bytes / sizeof(Bfloat16);
    std::vector<Bfloat16> seen(count * (parts ? static_cast<std::size_t>(rt_->npes()) : 1));
    RETURN_IF_ERROR(
        of(cudaMemcpy(seen.data(), out_, seen.size() * sizeof(Bfloat16), cudaMemcpyDeviceToHost)));
    const int n = rt_->npes();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const int want = parts                            ? static_cast<int>(i / count) + 1
                       : what == Collective::kBroadcast ? 1
                                                        : n * (n + 1) / 2;
      if (static_cast<float>(seen[i]) == static_cast<float>(want)) continue;
      return Status::error(Code::kInternal, "weft-gpu-kernels: wrong data after " +
                                                std::string(to_string(what)) + " of " +
                                                std::to_string(bytes) + " bytes, at element " +
                                                std::to_string(i));
    }
    return Status::ok();
  }

  Status call_nccl(Collective what, Stream stream, std::size_t count) const {
    const Nccl& n = *nccl_;
    auto* const s = static_cast<cudaStream_t>(stream);
    constexpr int type = Nccl::kBfloat16, sum = Nccl::kSum;
    int result = 0;
    switch (what) {
      case Collective::kAllReduce:
        result = n.all_reduce(in_, out_, count, type, sum, n.comm, s);
        break;
      case Collective::kAllGather: result = n.all_gather(in_, out_, count, type, n.comm, s); break;
      case Collective::kReduceScatter:
        result = n.reduce_scatter(in_, out_, count, type, sum, n.comm, s);
        break;
      case Collective::kBroadcast:
        result = n.broadcast(in_, out_, count, type, 0, n.comm, s);
        break;
      case Collective::kAllToAll:
        n.group_start();
        for (int pe = 0; pe < rt_->npes(); ++pe) {
          const std::size_t at = static_cast<std::size_t>(pe) * count * sizeof(Bfloat16);
          n.send(in_ + at, count, type, pe, n.comm, s);
          n.receive(out_ + at, count, type, pe, n.comm, s);
        }
        result = n.group_end();
        break;
    }
    if (result == 0) return Status::ok();
    return Status::error(Code::kInternal, "NCCL failed with " + std::to_string(result));
  }

  Runtime* rt_;
  const Choices* choices_;
  Stream stream_ = nullptr;
  std::byte *in_ = nullptr, *out_ = nullptr;
  std::optional<Nccl> nccl_;
};

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
      case Collective::kAllToAllV: break;  // whose sizes the GPUs know
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
    } else if (name == "--what") {
      for (const Collective what : kAll)
        if (value == to_string(what)) choices.what = what;
      if (!choices.what) return std::nullopt;
    } else if (name == "--algorithm") {
      for (const Algorithm a : {Algorithm::kPackets, Algorithm::kTwoShotPackets, Algorithm::kBulk,
                                Algorithm::kScatteredBulk})
        if (value == to_string(a)) choices.options.algorithm = a;
      if (choices.options.algorithm == Algorithm::kAuto) return std::nullopt;
    } else if (name == "--blocks") {
      choices.options.blocks = static_cast<unsigned>(number);
    } else if (name == "--threads") {
      choices.options.threads = static_cast<unsigned>(number);
    } else if (name == "--hidden" && number >= 8 && number % 8 == 0) {
      choices.hidden = number;
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
        "usage: [weft-run -n N] weft-gpu-kernels [--pes N] [--nccl FILE|none] [--what NAME] "
        "[--algorithm NAME] [--blocks N] [--threads N] [--from BYTES] [--to BYTES] [--hidden N]\n");
    return 2;
  }
  const weft::Status status = weft::perf::kernels::run(*choices);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.is_ok() ? 0 : 1;
}
