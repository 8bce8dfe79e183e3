// The set tune: which way of carrying collectives out is best on this machine, on GPUs where there
// are, else on host threads. --table FILE writes a table that operators take where
// WEFT_KERNELS_TABLE names it.
#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include <weft/kernels/table.hpp>
#include <weft/version.hpp>

#include "perftest/operators/operators.hpp"
#include "perftest/report.hpp"
#include "perftest/status.hpp"
#include "perftest/tune/tune.hpp"

namespace weft::perf {
namespace tune {
namespace {

using kernels::Collective;
using kernels::PlanRow;

struct Named {
  std::string_view row;
  Collective what;
};
constexpr Named kNamed[] = {
    {"tune_AllReduce", Collective::kAllReduce},         {"tune_AllGather", Collective::kAllGather},
    {"tune_ReduceScatter", Collective::kReduceScatter}, {"tune_AllToAll", Collective::kAllToAll},
    {"tune_AllToAllV", Collective::kAllToAllV},         {"tune_Broadcast", Collective::kBroadcast},
    {"tune_AllReduceNorm", Collective::kAllReduceNorm},
};
constexpr std::size_t kLeast = 16, kMost = std::size_t{1} << 32;

Result<Sizes> sizes_of(const Options& options, bool gpu) {
  Sizes sizes;
  sizes.to = options.max.value_or(gpu ? 128u << 20 : 256u << 10);
  sizes.from = options.min.value_or(std::min<std::size_t>(1024, sizes.to));
  if (sizes.from >= kLeast && sizes.from <= sizes.to && sizes.to <= kMost) return sizes;
  return Status::error(Code::kInvalidArgument,
                       fmt::format("tune: -b {} -e {}: sizes go from {} to {}", sizes.from,
                                   sizes.to, kLeast, kMost));
}

Line line_of(const Row& row, const Measured& measured) {
  Line line;
  line.row = &row;
  line.point = {measured.bytes, find_type(row.type)};
  line.plan = fmt::format("{}, {} blocks of {} threads", to_string(measured.way.algorithm),
                          measured.way.blocks, measured.way.threads);
  const double ns = 1e3 * measured.us;
  line.measured.time = {1, ns, ns, ns, ns};
  line.measured.iters = 1;
  return line;
}

Status write(const Job& job, const std::vector<PlanRow>& table, const Sizes& sizes) {
  const std::string& file = job.options().op.table;
  if (!job.leads() || file.empty()) return Status::ok();
  const std::vector<std::string> comment = {
      fmt::format("weft-tune {}: {} PEs on {}, {} to {} bytes", WEFT_VERSION, job.npes(),
                  job.runtime().gpu() >= 0 ? "GPUs" : "host threads", sizes.from, sizes.to)};
  RETURN_IF_ERROR(kernels::write_table(file, table, comment));
  fmt::print(stderr, "WEFT_KERNELS_TABLE={} takes the table.\n", file);
  return Status::ok();
}

Status run(Job& job, std::span<const Row* const> rows, Reporter& out) {
  ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(job.options(), job.runtime().gpu() >= 0));
  std::vector<PlanRow> table;
  for (const Row* row : rows)
    for (const Named& one : kNamed) {
      if (one.row != row->name) continue;
      out.start(*row);
      ASSIGN_OR_RETURN(const std::vector<PlanRow> best,
                       tune(job.runtime(), one.what, sizes,
                            [&](const Measured& m) { out.add(line_of(*row, m)); }));
      out.finish(*row);
      table.insert(table.end(), best.begin(), best.end());
    }
  return write(job, table, sizes);
}

}  // namespace
}  // namespace tune

std::vector<Row> tune_rows() {
  std::vector<Row> rows;
  for (const tune::Named& one : tune::kNamed) {
    Row row =
        operator_row("tune", tune::run, one.row,
                     "one call, by each algorithm and grid that may be the best for a size",
                     "p50 = median of 5 turns, of the slowest PE; --table FILE takes what is best");
    row.uses = kUsesSize;
    row.min = 1024;
    row.max = 128u << 20;
    row.type = "uint16";  // as many bytes as a bfloat16
    rows.push_back(row);
  }
  return rows;
}

}  // namespace weft::perf
