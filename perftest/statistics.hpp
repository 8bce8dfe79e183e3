// Summaries of many samples of one thing.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::perf {

struct Summary {
  std::size_t samples = 0;
  double min = 0, p50 = 0, p99 = 0, max = 0;
};

// Nearest rank: the smallest sample that at least `fraction` of all samples do not exceed, so a
// quantile is always a value that was seen. `sorted` must not be empty.
double quantile(const std::vector<double>& sorted, double fraction);

Summary summarize(std::vector<double> samples);

// The median of samples[i] / baselines[i]. The two of a pair were measured right after each other,
// so what slows the machine down for a while slows both and leaves the ratio alone. 0 without
// pairs.
double paired_ratio(const std::vector<double>& samples, const std::vector<double>& baselines);

}  // namespace weft::perf
