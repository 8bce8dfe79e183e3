#include "perftest/vocabulary.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace weft::perf {
namespace {

constexpr TypeInfo kTypes[] = {
#define WEFT_TYPE(name, type, rma, amo, xamo, ...) \
  {#name, sizeof(type), element_of<type>(), amo != 0, xamo != 0, std::is_floating_point_v<type>},
#include "include/compat/shmem/types.def.h"
};

// Levenshtein distance: how many letters to add, drop or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const TypeInfo> types() { return kTypes; }

const TypeInfo* find_type(std::string_view name) {
  for (const TypeInfo& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

bool allowed(ReduceOp op, const TypeInfo& type) {
  const bool bitwise = op == ReduceOp::kAnd || op == ReduceOp::kOr || op == ReduceOp::kXor;
  return !bitwise || !type.floating;
}

bool allowed(Atomic atomic, const TypeInfo& type) {
  switch (atomic) {
    case Atomic::kSet:
    case Atomic::kFetch:
    case Atomic::kSwap: return type.xamo;
    default: return type.amo;
  }
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t best_distance = typed.size() / 2 + 1;  // further away is no likely slip
  for (const std::string_view name : names)
    if (const std::size_t d = distance(typed, name); d < best_distance) {
      best = name;
      best_distance = d;
    }
  return best;
}

}  // namespace weft::perf
