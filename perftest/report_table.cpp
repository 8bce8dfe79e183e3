#include "perftest/report_formats.hpp"

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
    for (const std::string& warning : info.warnings) out_ << "# warning: " << warning << '\n';
    out_.flush();
  }

  void start(const Row& row) override {
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
    }
    out_.flush();
  }

  void finish(const Row& row) override {
    out_ << "  " << row.formula;
    if (options_.floor && !row.floor.empty()) out_ << "; floor: " << row.floor;
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
  std::vector<Column> columns(const Row& row) const {
    std::vector<Column> all;
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
    if (options_.floor && !row.floor.empty()) {
      all.push_back(
          {"floor p50", 11, [](const Line& l) { return format_ns(l.measured.floor.p50); }});
      all.push_back(
          {"ratio", 8, [](const Line& l) { return fmt::format("{:.2f}", l.measured.ratio); }});
    }
    return all;
  }

  const Options& options_;
  std::ostream& out_;
  std::vector<Column> columns_;
  bool claims_ = false;
};

}  // namespace

std::unique_ptr<Reporter> make_table_reporter(const Options& options, std::ostream& out) {
  return std::make_unique<Table>(options, out);
}

}  // namespace weft::perf
