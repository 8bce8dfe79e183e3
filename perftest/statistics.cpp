#include "perftest/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace weft::perf {

double quantile(const std::vector<double>& sorted, double fraction) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {samples.size(), samples.front(), quantile(samples, 0.50), quantile(samples, 0.99),
          samples.back()};
}

double paired_ratio(const std::vector<double>& samples, const std::vector<double>& baselines) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(samples.size(), baselines.size()); ++i)
    if (baselines[i] > 0) ratios.push_back(samples[i] / baselines[i]);
  return summarize(std::move(ratios)).p50;
}

}  // namespace weft::perf
