#include "perftest/tune/choose.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace weft::perf::tune {
namespace {

using kernels::Algorithm;
using kernels::Collective;
using kernels::PlanRow;

void add(std::vector<Way>& ways, Algorithm algorithm, const std::vector<unsigned>& blocks,
         const std::vector<unsigned>& threads) {
  for (const unsigned b : blocks)
    for (const unsigned t : threads) ways.push_back({algorithm, b, t});
}

const Measured* find(const std::vector<Measured>& of_size, const Way& way) {
  for (const Measured& one : of_size)
    if (one.way == way) return &one;
  return nullptr;
}

std::vector<PlanRow> choose_of(Collective what, int npes, const std::vector<Measured>& all) {
  std::map<std::size_t, std::vector<Measured>> sizes;
  for (const Measured& one : all) sizes[one.bytes].push_back(one);
  std::vector<PlanRow> rows;
  std::optional<Way> way;
  for (const auto& [bytes, of_size] : sizes) {
    const Measured& best =
        *std::min_element(of_size.begin(), of_size.end(),
                          [](const Measured& a, const Measured& b) { return a.us < b.us; });
    const Measured* const stays = way ? find(of_size, *way) : nullptr;
    if (stays == nullptr || stays->us > best.us * kNoise) {
      way = best.way;
      rows.push_back({what, npes, bytes, way->algorithm, way->blocks, way->threads});
    }
    rows.back().up_to = bytes;
  }
  if (!rows.empty()) rows.back().up_to = ~std::size_t{0};
  return rows;
}

// The bytes from which on symmetric ways are the best of all sizes; more than any if they are not.
std::size_t pays_from(const std::vector<Measured>& symmetric,
                      const std::vector<Measured>& anywhere) {
  const auto best = [](const std::vector<Measured>& all) {
    std::map<std::size_t, double> us;
    for (const Measured& one : all) {
      double& least = us.try_emplace(one.bytes, one.us).first->second;
      least = std::min(least, one.us);
    }
    return us;
  };
  std::size_t from = ~std::size_t{0};
  const auto others = best(anywhere), these = best(symmetric);
  for (auto size = others.rbegin(); size != others.rend(); ++size) {
    const auto here = these.find(size->first);
    if (here == these.end() || here->second * kNoise > size->second) break;
    from = size->first;
  }
  return from;
}

}  // namespace

std::vector<Way> ways_of(Collective what, int npes, bool gpu) {
  const bool sums_to_all = what == Collective::kAllReduce || what == Collective::kAllReduceNorm;
  const std::vector<unsigned> some =
      gpu ? std::vector<unsigned>{32, 64, 128} : std::vector<unsigned>{1, 2};
  const std::vector<unsigned> threads =
      gpu ? std::vector<unsigned>{128, 256, 512} : std::vector<unsigned>{1, 2};
  const std::vector<unsigned> full = {threads.back()};
  std::vector<Way> ways;
  add(ways, Algorithm::kLL, some, threads);
  if (sums_to_all && npes > 1) add(ways, Algorithm::kTwoShotLL, some, threads);
  if (what != Collective::kAllToAllV) add(ways, Algorithm::kLamport, some, threads);
  if (sums_to_all && npes > 1) add(ways, Algorithm::kTwoShotLamport, some, threads);
  for (const Algorithm simple : {Algorithm::kSimple, Algorithm::kScatteredSimple}) {
    if (simple == Algorithm::kScatteredSimple && (what != Collective::kBroadcast || npes <= 2))
      continue;
    add(ways, simple, some, full);
    if (gpu) ways.push_back({simple, 256, 256});  // two to an SM
  }
  if (what != Collective::kAllReduceNorm) {
    const std::vector<unsigned> many =
        gpu ? std::vector<unsigned>{64, 128, 256} : std::vector<unsigned>{1, 2};
    add(ways, Algorithm::kZeroCopy, many, {threads.end() - 2, threads.end()});
  }
  return ways;
}

std::vector<PlanRow> choose(Collective what, int npes, const std::vector<Measured>& all) {
  std::vector<Measured> anywhere, symmetric;
  for (const Measured& one : all)
    (one.way.algorithm == Algorithm::kZeroCopy ? symmetric : anywhere).push_back(one);
  const std::vector<PlanRow> rows = choose_of(what, npes, anywhere);
  const std::size_t from = pays_from(symmetric, anywhere);
  std::erase_if(symmetric, [&](const Measured& one) { return one.bytes < from; });
  const std::vector<PlanRow> there = choose_of(what, npes, symmetric);
  if (there.empty()) return rows;
  // Rows for symmetric buffers come first; for all other buffers they do not count.
  std::vector<PlanRow> made;
  for (const PlanRow& row : rows) {
    if (made.empty() || made.back().up_to < from) {
      PlanRow below = row;
      below.up_to = std::min(row.up_to, from - 1);
      const std::size_t begun = made.empty() ? 0 : made.back().up_to;
      if (begun < below.up_to) made.push_back(below);
      if (row.up_to < from) continue;
      made.insert(made.end(), there.begin(), there.end());
    }
    made.push_back(row);
  }
  return made;
}

}  // namespace weft::perf::tune
