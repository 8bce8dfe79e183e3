#include "perftest/registry.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perftest/size.hpp"

namespace weft::perf {
namespace {

// The rows that a newcomer wants to see within seconds.
constexpr std::string_view kQuick[] = {"put_lat",     "put_bw",         "get_bw",
                                       "put_rate",    "put_signal_lat", "atomic_rate",
                                       "barrier_lat", "alltoall_lat",   "reduce_lat"};

bool names(std::string_view name, const Row& row) {
  if (name == row.name || name == id(row) || name == (row.set.empty() ? "all" : row.set))
    return true;
  return name == "quick" &&
         std::find(std::begin(kQuick), std::end(kQuick), id(row)) != std::end(kQuick);
}

bool wanted(const Row& row, const Options& options) {
  return (!options.api || *options.api == row.api) && (!options.kind || *options.kind == row.kind);
}

Status unknown_test(const std::vector<Row>& rows, const std::string& name) {
  std::vector<std::string> known = {"all", "quick", "claims", "list"};
  for (const Row& row : rows) {
    known.emplace_back(row.name);
    known.push_back(id(row));
    known.emplace_back(row.set);
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = nearest(name, views);
  return Status::error(Code::kInvalidArgument,
                       fmt::format("there is no test '{}'{}; 'weft-perf list' names them all", name,
                                   near.empty() ? "" : fmt::format(", did you mean {}?", near)));
}

std::vector<std::uint64_t> sizes(const Row& row, const Options& options, std::uint64_t element) {
  if ((row.uses & kUsesSize) == 0) return {element};
  const auto [low, high] = range(row, options);
  std::vector<std::uint64_t> result;
  for (auto size = static_cast<double>(low); size <= static_cast<double>(high) * 1.0000001;
       size *= options.step) {
    const auto whole = static_cast<std::uint64_t>(std::llround(size));
    const std::uint64_t bytes = std::max(element, whole / element * element);
    if (result.empty() || bytes > result.back()) result.push_back(bytes);
  }
  return result;
}

template <class T>
std::vector<T> one_or(bool uses, const std::vector<T>& chosen, T otherwise) {
  return uses ? chosen : std::vector<T>{otherwise};
}

// "all", which is of the rows that no module has, then the modules' sets.
std::vector<std::string> sets(const std::vector<Row>& rows) {
  std::vector<std::string> names = {"all"};
  for (const Row& row : rows)
    if (!row.set.empty() && std::find(names.begin(), names.end(), row.set) == names.end())
      names.emplace_back(row.set);
  return names;
}

std::vector<Atomic> all_atomics() {
  std::vector<Atomic> all;
  for (const auto& word : kAtomics) all.push_back(word.value);
  return all;
}

}  // namespace

Range range(const Row& row, const Options& options) {
  // Only one end given: the other one follows if it would lie on the wrong side.
  std::uint64_t low = options.min.value_or(row.min);
  std::uint64_t high = options.max.value_or(row.max);
  if (low > high) (options.min ? high : low) = options.min ? low : high;
  return {low, high};
}

std::string id(const Row& row) {
  constexpr std::string_view kSuffix[] = {"lat", "bw", "rate"};
  return fmt::format("{}_{}", row.name, kSuffix[static_cast<std::size_t>(row.kind)]);
}

Result<std::vector<const Row*>> select(const std::vector<Row>& rows, const Options& options) {
  for (const std::string& name : options.tests)
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return names(name, row); }))
      return unknown_test(rows, name);

  std::vector<const Row*> chosen;
  for (const Row& row : rows)
    if (wanted(row, options) && std::any_of(options.tests.begin(), options.tests.end(),
                                            [&](const auto& name) { return names(name, row); }))
      chosen.push_back(&row);
  if (chosen.empty())
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("no test is left: {} with --api {} and --kind {}",
                    fmt::join(options.tests, " "), options.api ? to_string(*options.api) : "all",
                    options.kind ? to_string(*options.kind) : "all"));
  return chosen;
}

std::vector<Point> points(const Row& row, const Options& options) {
  const bool takes_type = (row.uses & kUsesType) != 0 && options.type != nullptr;
  const TypeInfo* const type = takes_type ? options.type : find_type(row.type);
  if (row.takes != nullptr && !row.takes(*type)) return {};
  const auto ops = one_or((row.uses & kUsesOp) != 0, options.ops, ReduceOp::kSum);
  const auto atomics =
      one_or((row.uses & kUsesAtomic) != 0,
             options.atomics.empty() ? all_atomics() : options.atomics, Atomic::kAdd);
  const auto scopes = one_or((row.uses & kUsesScope) != 0, options.scopes, ScopeKind::kBlock);

  std::vector<Point> result;
  for (const ScopeKind scope : scopes)
    for (const ReduceOp op : ops)
      for (const Atomic atomic : atomics) {
        if ((row.uses & kUsesOp) != 0 && !allowed(op, *type)) continue;
        if ((row.uses & kUsesAtomic) != 0 && !allowed(atomic, *type)) continue;
        for (const std::uint64_t bytes : sizes(row, options, type->bytes))
          result.push_back({bytes, type, op, atomic, scope});
      }
  return result;
}

Result<std::string> list(const std::vector<Row>& rows, const Options& options) {
  Options chosen = options;
  std::erase(chosen.tests, "list");
  if (chosen.tests.empty()) chosen.tests = sets(rows);
  auto selected = select(rows, chosen);
  if (!selected) return selected.status();

  std::string out;
  for (const Row* row : *selected) {
    out += fmt::format("{:<22} {:<6} {:<9}  {}\n", id(*row), to_string(row->api),
                       to_string(row->kind), row->what);
    out += fmt::format("{:<40} {}\n", "", row->formula);
    if (!row->floor.empty()) out += fmt::format("{:<40} baseline: {}\n", "", row->floor);
  }
  out += fmt::format(
      "\nSets: {}; quick (a few lines each of {}, host API); claims (the speeds that Weft "
      "promises).\n",
      fmt::join(sets(rows), ", "), fmt::join(kQuick, ", "));
  return out;
}

}  // namespace weft::perf
