#include "perftest/gpu_collectives/bench.hpp"

#include <algorithm>
#include <cstdio>

namespace weft::perf::collectives {

using kernels::Algorithm;

Collective collective_of(const Row& row) {
  for (const Collective what :
       {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
        Collective::kAllToAllV, Collective::kBroadcast, Collective::kAllReduceNorm})
    if (row.name == to_string(what)) return what;
  return Collective::kAllReduce;
}

Result<Bench> Bench::create(Job& job, std::size_t most, Reporter& out) {
  Bench made(job, out);
  Runtime& rt = job.runtime();
  const OperatorOptions& options = job.options().op;
  RETURN_IF_ERROR(dev::create_stream(&made.stream_));
  for (std::byte** const memory : {&made.mine_.in, &made.mine_.out}) {
    if (options.symmetric) {
      ASSIGN_OR_RETURN(*memory, rt.allocate_device<std::byte>(most));
    } else {
      RETURN_IF_ERROR(of(cudaMalloc(memory, most)));
    }
  }
  const std::vector<Bfloat16> mine(most / sizeof(Bfloat16),
                                   Bfloat16(static_cast<float>(rt.pe() + 1)));
  RETURN_IF_ERROR(of(cudaMemcpy(made.mine_.in, mine.data(), most, cudaMemcpyHostToDevice)));
  if (!options.baselines.nccl) return made;
  auto nccl = NcclBaseline::create(rt, options.nccl, mine.data(), most);
  if (nccl)
    made.nccl_ = *std::move(nccl);
  else if (rt.pe() == 0)
    std::fprintf(stderr, "without NCCL: %s\n", nccl.status().text());
  return made;
}

Result<CollectiveOptions> Bench::collective_options() const {
  const OperatorOptions& given = options().op;
  CollectiveOptions made;
  made.symmetric = given.symmetric;
  made.blocks = given.blocks;
  made.threads = given.threads;
  for (const Algorithm one :
       {Algorithm::kLL, Algorithm::kTwoShotLL, Algorithm::kSimple, Algorithm::kScatteredSimple,
        Algorithm::kLamport, Algorithm::kTwoShotLamport, Algorithm::kZeroCopy})
    if (given.algorithm == to_string(one)) made.algorithm = one;
  if (given.algorithm.empty() || made.algorithm != Algorithm::kAuto) return made;
  return Status::error(Code::kInvalidArgument,
                       "--algorithm: collectives have none named " + given.algorithm);
}

std::string Bench::name_of(const Facts& facts) {
  return std::string(facts.row->name) + " of " + std::to_string(facts.bytes) + " bytes";
}

Result<std::vector<Graph>> Bench::graphs_of_nccl(
    Collective what, const std::string& name, int calls,
    const std::function<Status(Stream, const Buffers&)>& call) const {
  std::vector<Graph> graphs;
  for (const Buffers& at : of_nccl(what)) {
    const std::string whose = graphs.empty() ? "NCCL's " : "NCCL's, in its windows, ";
    ASSIGN_OR_RETURN(Graph graph, Graph::capture(whose + name, stream_, calls,
                                                 [&](Stream stream) { return call(stream, at); }));
    graphs.push_back(std::move(graph));
  }
  return std::move(graphs);
}

Status Bench::measure(const Facts& facts, const Call& mine) {
  const Collective what = collective_of(*facts.row);
  const int calls = calls_of(facts.bytes);
  const std::string name = name_of(facts);
  ASSIGN_OR_RETURN(const Graph weft, Graph::capture("Weft's " + name, stream_, calls, mine));
  ASSIGN_OR_RETURN(const std::vector<Graph> theirs,
                   graphs_of_nccl(what, name, calls, [&](Stream stream, const Buffers& at) {
                     return nccl_->call(what, stream, at, facts.bytes / sizeof(Bfloat16));
                   }));
  RETURN_IF_ERROR(of(cudaMemset(mine_.out, 0xff, facts.bytes)));
  RETURN_IF_ERROR(time(weft).status());
  RETURN_IF_ERROR(check(what, facts.bytes));
  for (const Graph& way : theirs) RETURN_IF_ERROR(time(way).status());
  return time_line(facts, calls, weft, theirs);
}

Status Bench::time_line(const Facts& facts, int calls, const Graph& weft,
                        const std::vector<Graph>& theirs) {
  std::vector<const Graph*> ways = {&weft};
  for (const Graph& way : theirs) ways.push_back(&way);
  ASSIGN_OR_RETURN(const std::vector<Summary> times,
                   time_in_turns(runtime(), stream_, calls, ways));
  Line line;
  line.row = facts.row;
  line.layer = facts.layer;
  line.point = {facts.bytes, find_type(facts.row->type)};
  line.work.bytes = static_cast<double>(facts.bytes) * sent(collective_of(*facts.row));
  line.workspace = facts.workspace;
  line.plan = to_string(facts.plan);
  line.measured.batch = static_cast<Count>(calls);
  line.measured.iters = line.measured.batch * times[0].samples;
  line.measured.time = times[0];
  if (!theirs.empty()) {
    line.baseline = "NCCL";
    line.measured.floor =
        *std::min_element(times.begin() + 1, times.end(),
                          [](const Summary& a, const Summary& b) { return a.p50 < b.p50; });
    line.measured.ratio = times[0].p50 / line.measured.floor.p50;
  }
  out_->add(line);
  return runtime().health();
}

Result<double> Bench::time(const Graph& graph) const {
  RETURN_IF_ERROR(runtime().barrier());
  return graph.run(stream_);
}

// The part of a line's bytes that each GPU sends at least.
double Bench::sent(Collective what) const {
  const double n = runtime().npes();
  if (what == Collective::kAllReduce || what == Collective::kAllReduceNorm) return 2 * (n - 1) / n;
  return what == Collective::kBroadcast ? 1 : n - 1;
}

// Everywhere that rank r wrote there is r + 1, or the sum of all.
Status Bench::check(Collective what, std::size_t bytes) const {
  const bool parts = what == Collective::kAllGather || what == Collective::kAllToAll ||
                     what == Collective::kAllToAllV;
  const int n = runtime().npes();
  const std::size_t count = bytes / sizeof(Bfloat16);
  std::vector<Bfloat16> seen(count * (parts ? static_cast<std::size_t>(n) : 1));
  RETURN_IF_ERROR(of(
      cudaMemcpy(seen.data(), mine_.out, seen.size() * sizeof(Bfloat16), cudaMemcpyDeviceToHost)));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const int want = parts                            ? static_cast<int>(i / count) + 1
                     : what == Collective::kBroadcast ? 1
                                                      : n * (n + 1) / 2;
    if (static_cast<float>(seen[i]) == static_cast<float>(want)) continue;
    return Status::error(Code::kInternal, "wrong data after " + std::string(to_string(what)) +
                                              " of " + std::to_string(bytes) +
                                              " bytes, at element " + std::to_string(i));
  }
  return Status::ok();
}

}  // namespace weft::perf::collectives
