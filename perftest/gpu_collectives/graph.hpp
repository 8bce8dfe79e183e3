// Calls in a CUDA graph, and how long they take.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "perftest/statistics.hpp"
#include "perftest/status.hpp"

namespace weft::perf::collectives {

inline Status of(cudaError_t error) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, std::string("CUDA: ") + cudaGetErrorString(error));
}

using Call = std::function<Status(Stream)>;

// Calls behind one another, in a graph.
class Graph {
 public:
  // `name`: what reports call it.
  static Result<Graph> capture(std::string name, Stream stream, int calls, const Call& call) {
    auto* const native = static_cast<cudaStream_t>(stream);
    RETURN_IF_ERROR(of(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal)));
    for (int i = 0; i < calls; ++i) RETURN_IF_ERROR(call(stream));
    Graph made;
    made.name_ = std::move(name);
    cudaGraph_t graph = nullptr;
    RETURN_IF_ERROR(of(cudaStreamEndCapture(native, &graph)));
    cudaGraphExec_t ready = nullptr;
    RETURN_IF_ERROR(of(cudaGraphInstantiate(&ready, graph, 0)));
    made.exec_.reset(ready);
    RETURN_IF_ERROR(of(cudaGraphDestroy(graph)));
    RETURN_IF_ERROR(of(cudaGraphUpload(ready, native)));
    return std::move(made);
  }
  // Microseconds of all. An error if they do not end: a peer waits without a deadline.
  Result<double> run(Stream stream) const {
    auto* const native = static_cast<cudaStream_t>(stream);
    cudaEvent_t begin, end;
    RETURN_IF_ERROR(of(cudaEventCreate(&begin)));
    RETURN_IF_ERROR(of(cudaEventCreate(&end)));
    RETURN_IF_ERROR(of(cudaEventRecord(begin, native)));
    RETURN_IF_ERROR(of(cudaGraphLaunch(exec_.get(), native)));
    RETURN_IF_ERROR(of(cudaEventRecord(end, native)));
    RETURN_IF_ERROR(wait(end));
    float ms = 0;
    RETURN_IF_ERROR(of(cudaEventElapsedTime(&ms, begin, end)));
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return 1e3 * ms;
  }

 private:
  Status wait(cudaEvent_t end) const {
    constexpr auto kMost = std::chrono::seconds(60);
    const auto begin = std::chrono::steady_clock::now();
    cudaError_t seen;
    while ((seen = cudaEventQuery(end)) == cudaErrorNotReady) {
      if (std::chrono::steady_clock::now() - begin < kMost) continue;
      // At once, since whoever gives memory back now waits for the GPU, too.
      std::fprintf(stderr, "weft-perf: %s has not ended on this GPU in 60 s\n", name_.c_str());
      return Status::error(Code::kTimeout, name_ + " has not ended");
    }
    return of(seen);
  }

  struct Destroy {
    void operator()(cudaGraphExec_t exec) const { cudaGraphExecDestroy(exec); }
  };
  std::string name_;
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy> exec_;
};

inline constexpr int kTurns = 9;

// Nanoseconds of a call, of each way, in which they take turns.
inline Result<std::vector<Summary>> time_in_turns(Runtime& rt, Stream stream, int calls,
                                                  const std::vector<const Graph*>& ways) {
  std::vector<std::vector<double>> all(ways.size());
  for (int turn = 0; turn < kTurns; ++turn)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      RETURN_IF_ERROR(rt.barrier());
      ASSIGN_OR_RETURN(const double us, ways[i]->run(stream));
      all[i].push_back(1e3 * us / calls);
    }
  std::vector<Summary> summaries;
  for (auto& times : all) summaries.push_back(summarize(std::move(times)));
  return summaries;
}

}  // namespace weft::perf::collectives
