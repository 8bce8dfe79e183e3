#include "perftest/report_formats.hpp"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "perftest/size.hpp"

namespace weft::perf {
namespace {

struct Column {
  std::string_view head;
  int width;
  std::string (*text)(const Line&);
};

template <class Number>
std::string plural(Number count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string variant(const Line& line) {
  std::string text;
  const unsigned uses = line.row->uses;
  if ((uses & kUsesOp) != 0) text = to_string(line.point.op);
  if ((uses & kUsesAtomic) != 0) text = to_string(line.point.atomic);
  if ((uses & kUsesType) != 0)
    text += fmt::format("{}{}", text.empty() ? "" : " ", line.point.type->name);
  return text;
}

class Table : public Reporter {
 public:
  Table(const Options& options, std::ostream& out) : options_(options), out_(out) {}

  void begin(const RunInfo& info) override {
    out_ << fmt::format("# weft-perf {} | {} as {}{} | {} build, {} | {}, {}\n", info.version,
                        plural(info.pes, "PE"), info.mode,
                        info.pinned ? ", each on a core of its own" : "", info.build, info.compiler,
                        info.cpu, plural(info.cores, "core"));
    out_ << fmt::format("# kernels: {} of {}{} | seed {}\n", plural(info.blocks, "block"),
                        plural(info.threads, "thread"), info.bidir ? " | both directions" : "",
                        info.seed);
    if (!info.gpu.empty()) out_ << "# GPU: " << info.gpu << '\n';
    for (const std::string& warning : info.warnings) out_ << "# warning: " << warning << '\n';
    out_.flush();
  }

  void start(const Row& row) override {
    logs_.clear();
    columns_ = columns(row);
    out_ << fmt::format("\n{} ({} API): {}\n", id(row), to_string(row.api), row.what);
    for (const Column& column : columns_) out_ << fmt::format("{:>{}}", column.head, column.width);
    out_ << '\n';
  }

  void add(const Line& line) override {
    if (!line.measured.wrong.empty()) {
      out_ << fmt::format("{:>8}  {}  ERROR: {}\n", format_size(line.point.bytes), variant(line),
                          line.measured.wrong);
    } else {
      for (const Column& column : columns_)
        out_ << fmt::format("{:>{}}", column.text(line), column.width);
      out_ << '\n';
      if (times_itself(*line.row) && line.has_baseline() && line.by_plan)
        logs_.push_back(std::log(line.speedup()));
    }
    out_.flush();
  }

  void finish(const Row& row) override {
    if (logs_.size() > 1)
      out_ << fmt::format("  geometric mean of the speedups: {:.3f}\n",
                          std::exp(std::accumulate(logs_.begin(), logs_.end(), 0.0) /
                                   static_cast<double>(logs_.size())));
    out_ << "  " << row.formula;
    if (compares(row)) out_ << "; baseline: " << row.floor;
    out_ << '\n';
    out_.flush();
  }

  void add(const Claim& claim) override {
    if (!claims_)
      out_ << fmt::format("\n{:<46}{:>12}{:>12}{:>10}{:>12}  {}\n", "claim", "measured", "floor",
                          "ratio", "limit", "held");
    claims_ = true;
    const bool ratio = claim.unit == "x";
    const std::string limit = ratio ? fmt::format("{:.2f}x", claim.limit)
                                    : fmt::format("{:g} {}", claim.limit, claim.unit);
    const std::string seen = claim.ratio > 0 ? fmt::format("{:.2f}x", claim.ratio) : "";
    out_ << fmt::format("{:<46}{:>12}{:>12}{:>10}{:>12}  {}\n", claim.what, claim.measured,
                        claim.floor, seen, limit,
                        !claim.wrong.empty() ? "ERROR: " + claim.wrong
                        : claim.held()       ? "yes"
                                             : "NO");
    if (!claim.note.empty()) out_ << "    " << claim.note << '\n';
    out_.flush();
  }

  void end(bool stopped) override {
    if (claims_)
      out_
          << "\nmeasured and floor: p50 of interleaved samples; ratio: median of their pairs. Time "
             "never changes\nthe exit status, only wrong data does.\n";
    if (stopped) out_ << "\ninterrupted: what was measured until then is above\n";
    out_.flush();
  }

 private:
  bool compares(const Row& row) const {
    return !row.floor.empty() && (options_.floor || times_itself(row));
  }

  std::vector<Column> columns(const Row& row) const {
    std::vector<Column> all;
    if ((row.uses & kUsesLayer) != 0)
      all.push_back({"layer", 17, [](const Line& l) { return l.layer; }});
    if ((row.uses & kUsesShape) != 0)
      all.push_back({"shape", 21, [](const Line& l) { return l.shape; }});
    if ((row.uses & kUsesSize) != 0) {
      all.push_back({"size", 8, [](const Line& l) { return format_size(l.point.bytes); }});
      all.push_back(
          {"count", 10, [](const Line& l) { return fmt::format("{}", l.point.count()); }});
    }
    if ((row.uses & (kUsesType | kUsesOp | kUsesAtomic)) != 0)
      all.push_back({(row.uses & kUsesSize) != 0 ? "type" : "operation", 20, variant});
    if ((row.uses & kUsesScope) != 0)
      all.push_back(
          {"scope", 8, [](const Line& l) { return std::string(to_string(l.point.scope)); }});
    all.push_back({"iters", 11, [](const Line& l) { return fmt::format("{}", l.measured.iters); }});
    all.push_back({"min", 11, [](const Line& l) { return format_ns(l.measured.time.min); }});
    all.push_back({"p50", 11, [](const Line& l) { return format_ns(l.measured.time.p50); }});
    all.push_back({"p99", 11, [](const Line& l) { return format_ns(l.measured.time.p99); }});
    if (row.kind == Kind::kBandwidth)
      all.push_back(
          {"GB/s", 10, [](const Line& l) { return fmt::format("{:.3f}", l.bandwidth()); }});
    if (row.kind == Kind::kRate)
      all.push_back({"Mop/s", 10, [](const Line& l) { return fmt::format("{:.3f}", l.rate()); }});
    if (row.kind == Kind::kBandwidth && options_.msgrate)
      all.push_back({"Mmsg/s", 10, [](const Line& l) { return fmt::format("{:.3f}", l.rate()); }});
    if ((row.uses & kUsesFlops) != 0)
      all.push_back(
          {"TFLOP/s", 9, [](const Line& l) { return fmt::format("{:.1f}", l.tflops()); }});
    if (compares(row)) add_baseline(all, row);
    if (times_itself(row)) {
      all.push_back({"", 2, [](const Line&) { return std::string(); }});
      all.push_back({"", 0, beside});
    }
    return all;
  }

  static void add_baseline(std::vector<Column>& all, const Row& row) {
    all.push_back(
        {"baseline", 10, [](const Line& l) { return l.has_baseline() ? l.baseline : "none"; }});
    all.push_back({"its p50", 11, [](const Line& l) {
                     return l.has_baseline() ? format_ns(l.measured.floor.p50) : "";
                   }});
    if (row.kind == Kind::kBandwidth)
      all.push_back({"GB/s", 10, [](const Line& l) {
                       return l.has_baseline()
                                  ? fmt::format("{:.3f}", l.work.bytes / l.measured.floor.p50)
                                  : "";
                     }});
    if ((row.uses & kUsesFlops) != 0)
      all.push_back({"TFLOP/s", 9, [](const Line& l) {
                       return l.has_baseline() ? fmt::format("{:.1f}", l.tflops() * l.speedup())
                                               : "";
                     }});
    all.push_back({"speedup", 8, [](const Line& l) {
                     return l.has_baseline() ? fmt::format("{:.2f}", l.speedup()) : "";
                   }});
  }

  // The rest of an operator's line, which fits no column.
  static std::string beside(const Line& line) {
    std::string text;
    for (const Timed& other : line.others)
      text += fmt::format("{} {}, ", other.name, format_ns(other.p50));
    if (line.efficiency > 0) text += fmt::format("efficiency {:.3f}, ", line.efficiency);
    text += line.plan;
    if (line.workspace > 0)
      text +=
          fmt::format(", workspace of {:.1f} MiB", static_cast<double>(line.workspace) / (1 << 20));
    return text.ends_with(", ") ? text.substr(0, text.size() - 2) : text;
  }

  const Options& options_;
  std::ostream& out_;
  std::vector<Column> columns_;
  std::vector<double> logs_;  // of a row's speedups, where operators chose their plans
  bool claims_ = false;
};

}  // namespace

std::unique_ptr<Reporter> make_table_reporter(const Options& options, std::ostream& out) {
  return std::make_unique<Table>(options, out);
}

}  // namespace weft::perf
