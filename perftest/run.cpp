#include "perftest/run.hpp"

#include <fmt/format.h>

#include "perftest/pin.hpp"
#include "perftest/progress.hpp"
#include "perftest/size.hpp"

namespace weft::perf {
namespace {

std::string label(const Row& row, const Point& point) {
  return fmt::format("{} {} {}", id(row), to_string(row.api),
                     (row.uses & kUsesSize) != 0 ? format_size(point.bytes) : "");
}

std::size_t count_points(const std::vector<const Row*>& rows, const Options& options) {
  std::size_t count = 0;
  for (const Row* row : rows)
    if (!times_itself(*row)) count += points(*row, options).size();
  return count;
}

// The rows from `first` on that run together with it.
std::span<const Row* const> set_of(const std::vector<const Row*>& rows, std::size_t first) {
  std::size_t end = first;
  while (end < rows.size() && rows[end]->run == rows[first]->run) ++end;
  return {rows.data() + first, end - first};
}

}  // namespace

Result<Line> run_line(Job& job, const Row& row, const Point& point, bool floor, double seconds) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Test> test, row.make(job, point));
  const Plan plan{floor && !row.floor.empty(), seconds,
                  row.api == Api::kDevice ? kKernelBatchNs : kBatchNs};
  const Pin pin(job, row.api == Api::kHost && row.pinned);
  ASSIGN_OR_RETURN(Measurement measured, measure(job, *test, plan));
  RETURN_IF_ERROR(job.release());
  Line line;
  line.row = &row;
  line.point = point;
  line.work = test->work();
  line.measured = std::move(measured);
  return line;
}

Result<Outcome> run_tests(Job& job, const std::vector<const Row*>& rows, Reporter* reporter) {
  const Options& options = job.options();
  const std::size_t steps = count_points(rows, options);
  Progress progress(reporter != nullptr, steps);
  Outcome outcome;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row* const row = rows[i];
    if (row->run != nullptr) {
      const auto set = set_of(rows, i);
      const auto silent = make_silent_reporter();
      RETURN_IF_ERROR(row->run(job, set, reporter != nullptr ? *reporter : *silent));
      i += set.size() - 1;
      continue;
    }
    const std::vector<Point> todo = points(*row, options);
    if (todo.empty() || outcome.stopped) continue;
    progress.clear();
    if (reporter != nullptr) reporter->start(*row);
    for (const Point& point : todo) {
      progress.step(label(*row, point));
      ASSIGN_OR_RETURN(const Line line, run_line(job, *row, point, options.floor, options.seconds));
      progress.clear();
      outcome.stopped = line.measured.stopped;
      outcome.wrong = outcome.wrong || !line.measured.wrong.empty();
      if (outcome.stopped) break;
      if (reporter != nullptr) reporter->add(line);
    }
    if (reporter != nullptr) reporter->finish(*row);
  }
  return outcome;
}

}  // namespace weft::perf
