// The tools that measure the rows of weft-gpu-kernels: buffers, calls in CUDA graphs, NCCL beside.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "perftest/gpu_kernels/graph.hpp"
#include "perftest/gpu_kernels/norm.hpp"
#include "perftest/gpu_kernels/peer.hpp"
#include "perftest/status.hpp"
#include "perftest/vs.hpp"

namespace weft::perf::kernels {

using weft::kernels::Algorithm;
using weft::kernels::CollectiveOptions;
using weft::kernels::CollectiveProblem;
using weft::kernels::DType;

inline constexpr float kEpsilon = 1e-6f;
struct Choices {
  int pes = 0;  // as threads; 0: this process is one
  std::string nccl = "libnccl.so.2";
  Peers peers;
  std::optional<Collective> what;
  CollectiveOptions options;
  bool symmetric = true;  // buffers are
  std::size_t from = 8, to = std::size_t{128} << 20;
  std::vector<std::size_t> hidden = {5120, 8192};
};

class Bench {
 public:
  static Result<Bench> create(Runtime& rt, const Choices& choices) {
    Bench made(rt, choices);
    RETURN_IF_ERROR(dev::create_stream(&made.stream_));
    const std::size_t most = choices.to * static_cast<std::size_t>(rt.npes());
    for (std::byte** const memory : {&made.mine_.in, &made.mine_.out}) {
      if (choices.symmetric) {
        ASSIGN_OR_RETURN(*memory, rt.allocate_device<std::byte>(most));
      } else {
        RETURN_IF_ERROR(of(cudaMalloc(memory, most)));
      }
    }
    const std::vector<Bfloat16> mine(most / sizeof(Bfloat16),
                                     Bfloat16(static_cast<float>(rt.pe() + 1)));
    RETURN_IF_ERROR(of(cudaMemcpy(made.mine_.in, mine.data(), most, cudaMemcpyHostToDevice)));
    if (!choices.peers.nccl) return made;
    auto peer = Peer::create(rt, choices.nccl, mine.data(), most);
    if (peer)
      made.peer_ = *std::move(peer);
    else if (rt.pe() == 0)
      std::printf("without NCCL: %s\n", peer.status().text());
    return made;
  }

  template <class Op>
  Status rows(Collective what) {
    const CollectiveProblem problem{choices_->to / sizeof(Bfloat16), DType::kBfloat16};
    CollectiveOptions options = choices_->options;
    options.symmetric = choices_->symmetric;
    auto made = Op::create(*rt_, problem, options);
    if (!made) return made.status();
    Op op = std::move(*made);
    print_head(what, op.workspace_bytes(), "NCCL us");
    for (std::size_t bytes = choices_->from; bytes <= choices_->to; bytes *= 2) {
      const std::size_t count = bytes / sizeof(Bfloat16);
      ASSIGN_OR_RETURN(const auto plan, op.plan(count));
      RETURN_IF_ERROR(row(what, bytes, plan, [&](Stream stream) {
        if constexpr (std::is_same_v<Op, weft::kernels::Broadcast>)
          return op(stream, mine_.out, mine_.in, count, 0);
        else
          return op(stream, mine_.out, mine_.in, count);
      }));
    }
    return rt_->barrier();
  }

  // An operator for each size, since by its largest message it goes: here what all have for all.
  Status rows_by_counts() {
    constexpr auto kWhat = Collective::kAllToAllV;
    CollectiveOptions options = choices_->options;
    options.symmetric = choices_->symmetric;
    const auto n = static_cast<std::size_t>(rt_->npes());
    std::uint64_t* words = nullptr;
    RETURN_IF_ERROR(of(cudaMalloc(&words, 3 * n * sizeof *words)));
    for (std::size_t bytes = choices_->from; bytes <= choices_->to; bytes *= 2) {
      const std::size_t count = bytes / sizeof(Bfloat16);
      auto made = weft::kernels::AllToAllV::create(*rt_, {count, DType::kBfloat16}, options);
      if (!made) return made.status();
      if (bytes == choices_->from) print_head(kWhat, made->workspace_bytes(), "NCCL us");
      std::vector<std::uint64_t> sizes(2 * n, count);
      for (std::size_t pe = 0; pe < n; ++pe) sizes[n + pe] = pe * count;
      RETURN_IF_ERROR(of(
          cudaMemcpy(words, sizes.data(), sizes.size() * sizeof *words, cudaMemcpyHostToDevice)));
      ASSIGN_OR_RETURN(const auto plan, made->plan(count));
      RETURN_IF_ERROR(row(kWhat, bytes, plan, [&](Stream stream) {
        return (*made)(stream, mine_.out, mine_.in, {words, words + n, words + n, words + 2 * n});
      }));
    }
    RETURN_IF_ERROR(of(cudaFree(words)));
    return rt_->barrier();
  }

  // Sizes of whole rows only. Every PE has pe + 1 everywhere, and a residual of zeros.
  Status norms() {
    for (const std::size_t hidden : choices_->hidden) RETURN_IF_ERROR(norms_of(hidden));
    return Status::ok();
  }
  Status norms_of(std::size_t hidden) {
    const std::size_t row = hidden * sizeof(Bfloat16);
    ASSIGN_OR_RETURN(auto norm, weft::kernels::AllReduceNorm::create(
                                    *rt_,
                                    {std::max<std::size_t>(choices_->to / row, 1), hidden,
                                     DType::kBfloat16, kEpsilon},
                                    choices_->options));
    std::byte *residual, *sums, *weight;
    for (std::byte** const memory : {&residual, &sums, &weight}) {
      RETURN_IF_ERROR(of(cudaMalloc(memory, choices_->to)));
      RETURN_IF_ERROR(of(cudaMemset(*memory, 0, choices_->to)));
    }
    const std::vector<Bfloat16> ones(hidden, Bfloat16(1.0f));
    RETURN_IF_ERROR(of(cudaMemcpy(weight, ones.data(), row, cudaMemcpyHostToDevice)));
    print_head(Collective::kAllReduceNorm, norm.workspace_bytes(), "NCCL+ us", hidden);
    for (std::size_t rows = 1; rows * row <= choices_->to; rows *= 2)
      if (rows * row >= choices_->from)
        RETURN_IF_ERROR(norm_row(norm, rows, hidden, residual, sums, weight));
    for (std::byte* const memory : {residual, sums, weight}) RETURN_IF_ERROR(of(cudaFree(memory)));
    return rt_->barrier();
  }

 private:
  Bench(Runtime& rt, const Choices& choices) : rt_(&rt), choices_(&choices) {}

  Status norm_row(weft::kernels::AllReduceNorm& norm, std::size_t rows, std::size_t hidden,
                  std::byte* residual, std::byte* sums, const std::byte* weight) {
    const std::size_t count = rows * hidden, bytes = count * sizeof(Bfloat16);
    const int calls = calls_of(bytes);
    const std::string name = name_of(Collective::kAllReduceNorm, bytes);
    ASSIGN_OR_RETURN(const Graph weft,
                     Graph::capture("Weft's " + name, stream_, calls, [&](Stream stream) {
                       return norm(stream, mine_.out, sums, mine_.in, residual, weight, rows);
                     }));
    ASSIGN_OR_RETURN(
        std::vector<Graph> theirs,
        graphs_of_peer(Collective::kAllReduceNorm, name, calls,
                       [&](Stream stream, const Buffers& at) -> Status {
                         RETURN_IF_ERROR(peer_->call(Collective::kAllReduce, stream, at, count));
                         return add_and_norm(stream, at.out, sums, at.out, residual, weight, rows,
                                             hidden, kEpsilon);
                       }));
    const auto right = [&](const Graph& way, const std::byte* out) -> Status {
      RETURN_IF_ERROR(of(cudaMemset(mine_.out, 0xff, bytes)));
      RETURN_IF_ERROR(time(way).status());
      return check_norm(out, sums, bytes);
    };
    RETURN_IF_ERROR(right(weft, mine_.out));
    for (std::size_t i = 0; i < theirs.size(); ++i)
      RETURN_IF_ERROR(right(theirs[i], peer_->buffers(Collective::kAllReduce)[i].out));
    ASSIGN_OR_RETURN(const auto plan, norm.plan(count));
    return time_row(Collective::kAllReduceNorm, bytes, calls, weft, theirs, plan);
  }
  // Rows of one value are normed to ones.
  Status check_norm(const std::byte* normed, const std::byte* sums, std::size_t bytes) {
    const int n = rt_->npes();
    std::vector<Bfloat16> out(bytes / sizeof(Bfloat16)), sum(out.size());
    RETURN_IF_ERROR(of(cudaMemcpy(out.data(), normed, bytes, cudaMemcpyDeviceToHost)));
    RETURN_IF_ERROR(of(cudaMemcpy(sum.data(), sums, bytes, cudaMemcpyDeviceToHost)));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (static_cast<float>(out[i]) != 1.0f ||
          static_cast<float>(sum[i]) != static_cast<float>(n * (n + 1) / 2))
        return Status::error(Code::kInternal,
                             "weft-gpu-kernels: wrong data after AllReduceNorm of " +
                                 std::to_string(bytes) + " bytes, at element " + std::to_string(i));
    return Status::ok();
  }

  Status row(Collective what, std::size_t bytes, const weft::kernels::Plan& plan,
             const Call& mine) {
    const int calls = calls_of(bytes);
    const std::string name = name_of(what, bytes);
    ASSIGN_OR_RETURN(const Graph weft, Graph::capture("Weft's " + name, stream_, calls, mine));
    ASSIGN_OR_RETURN(std::vector<Graph> theirs,
                     graphs_of_peer(what, name, calls, [&](Stream stream, const Buffers& at) {
                       return peer_->call(what, stream, at, bytes / sizeof(Bfloat16));
                     }));
    RETURN_IF_ERROR(of(cudaMemset(mine_.out, 0xff, bytes)));
    RETURN_IF_ERROR(time(weft).status());
    RETURN_IF_ERROR(check(what, bytes));
    for (const Graph& way : theirs) RETURN_IF_ERROR(time(way).status());
    return time_row(what, bytes, calls, weft, theirs, plan);
  }

  static std::string name_of(Collective what, std::size_t bytes) {
    return std::string(to_string(what)) + " of " + std::to_string(bytes) + " bytes";
  }
  // A graph's start and the PEs' skew, some microseconds, are next to nothing of each.
  static int calls_of(std::size_t bytes) {
    return bytes <= (4 << 20) ? 50 : bytes <= (16 << 20) ? 25 : 8;
  }
  // One for each way of the peer; none without it.
  Result<std::vector<Graph>> graphs_of_peer(
      Collective what, const std::string& name, int calls,
      const std::function<Status(Stream, const Buffers&)>& call) {
    std::vector<Graph> graphs;
    for (const Buffers& at : peer_ ? peer_->buffers(what) : std::span<const Buffers>()) {
      const std::string whose = graphs.empty() ? "NCCL's " : "NCCL's, in its windows, ";
      ASSIGN_OR_RETURN(Graph graph,
                       Graph::capture(whose + name, stream_, calls,
                                      [&](Stream stream) { return call(stream, at); }));
      graphs.push_back(std::move(graph));
    }
    return std::move(graphs);
  }
  Status time_row(Collective what, std::size_t bytes, int calls, const Graph& weft,
                  const std::vector<Graph>& theirs, const weft::kernels::Plan& plan) {
    std::vector<const Graph*> ways = {&weft};
    for (const Graph& way : theirs) ways.push_back(&way);
    ASSIGN_OR_RETURN(const std::vector<double> times, time_in_turns(*rt_, stream_, calls, ways));
    print_row(what, bytes, times[0],
              theirs.empty() ? 0 : *std::min_element(times.begin() + 1, times.end()), plan);
    return rt_->health();
  }

  // `hidden`: of an AllReduceNorm's rows.
  void print_head(Collective what, std::size_t workspace, const char* peer,
                  std::size_t hidden = 0) const {
    const std::string rows = hidden == 0 ? "" : " " + std::to_string(hidden);
    if (rt_->pe() == 0)
      std::printf(
          "%s%s: workspace of %.1f MiB; GB/s: %s bytes / us / 1000\n%10s %10s %8s %10s %8s %7s  "
          "%s\n",
          to_string(what), rows.c_str(), static_cast<double>(workspace) / (1 << 20),
          share(what).text, "bytes", "us", "GB/s", peer, "GB/s", "ratio", "plan");
  }
  // `us` of Weft, `peer_us` of the peer; 0: none.
  void print_row(Collective what, std::size_t bytes, double us, double peer_us,
                 const weft::kernels::Plan& plan) const {
    const double moved = static_cast<double>(bytes) * share(what).part / 1e3;
    if (rt_->pe() == 0)
      std::printf("%10zu %10.2f %8.1f %10.2f %8.1f %7.2f  %s\n", bytes, us, moved / us, peer_us,
                  peer_us > 0 ? moved / peer_us : 0, peer_us / us, to_string(plan).c_str());
    std::fflush(stdout);
  }

  Result<double> time(const Graph& graph) {
    RETURN_IF_ERROR(rt_->barrier());
    return graph.run(stream_);
  }

  // The part of `bytes` that each GPU sends at least.
  struct Share {
    double part;
    const char* text;
  };
  Share share(Collective what) const {
    const double n = rt_->npes();
    if (what == Collective::kAllReduce || what == Collective::kAllReduceNorm)
      return {2 * (n - 1) / n, "2 (n-1)/n *"};
    if (what == Collective::kBroadcast) return {1, ""};
    return {n - 1, "(n-1) *"};
  }

  // Everywhere that rank r wrote there is r + 1, or the sum of all.
  Status check(Collective what, std::size_t bytes) {
    const bool parts = what == Collective::kAllGather || what == Collective::kAllToAll ||
                       what == Collective::kAllToAllV;
    const std::size_t count = bytes / sizeof(Bfloat16);
    std::vector<Bfloat16> seen(count * (parts ? static_cast<std::size_t>(rt_->npes()) : 1));
    RETURN_IF_ERROR(of(cudaMemcpy(seen.data(), mine_.out, seen.size() * sizeof(Bfloat16),
                                  cudaMemcpyDeviceToHost)));
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

  Runtime* rt_;
  const Choices* choices_;
  Stream stream_ = nullptr;
  Buffers mine_;
  std::optional<Peer> peer_;
};

}  // namespace weft::perf::kernels
