#include "perftest/report.hpp"

#include <fmt/format.h>

#include "perftest/report_formats.hpp"

namespace weft::perf {

double Line::bandwidth() const {
  const double ns = measured.time.p50;
  return ns > 0 ? work.bytes / work.operations / ns : 0;
}

double Line::speedup() const { return measured.ratio > 0 ? 1 / measured.ratio : 0; }

double Line::tflops() const {
  return measured.time.p50 > 0 ? work.flops / measured.time.p50 / 1e3 : 0;
}

double Line::rate() const { return measured.time.p50 > 0 ? 1e3 / measured.time.p50 : 0; }

std::string format_ns(double ns) {
  constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  while (unit < 3 && ns >= 999.5) {
    ns /= 1000;
    ++unit;
  }
  const int digits = ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", ns, digits, kUnits[unit]);
}

namespace {

class Silent : public Reporter {
  void begin(const RunInfo&) override {}
  void start(const Row&) override {}
  void add(const Line&) override {}
  void finish(const Row&) override {}
  void add(const Claim&) override {}
  void end(bool) override {}
};

}  // namespace

std::unique_ptr<Reporter> make_silent_reporter() { return std::make_unique<Silent>(); }

std::unique_ptr<Reporter> make_reporter(const Options& options, std::ostream& out) {
  switch (options.format) {
    case Format::kCsv: return make_csv_reporter(out);
    case Format::kJson: return make_json_reporter(out);
    case Format::kTable: break;
  }
  return make_table_reporter(options, out);
}

}  // namespace weft::perf
