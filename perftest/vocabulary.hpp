// The words that options and tables use: element types, reductions, atomics, scopes. Each is a
// table of names; parsing, help and error texts read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/collective.hpp>
#include <weft/reduce_op.hpp>

namespace weft::perf {

// kKernel: operators of weft::kernels.
enum class Api : std::uint8_t { kHost, kDevice, kKernel };
enum class Kind : std::uint8_t { kLatency, kBandwidth, kRate };
enum class ScopeKind : std::uint8_t { kThread, kWarp, kBlock };

enum class Atomic : std::uint8_t {
  kSet,
  kAdd,
  kInc,
  kAnd,
  kOr,
  kXor,
  kFetch,
  kSwap,
  kCompareSwap,
  kFetchAdd,
  kFetchInc,
  kFetchAnd,
  kFetchOr,
  kFetchXor,
};
constexpr bool is_fetching(Atomic atomic) { return atomic >= Atomic::kFetch; }

template <class E>
struct Word {
  std::string_view name;
  E value;
};

inline constexpr Word<Api> kApis[] = {
    {"host", Api::kHost}, {"device", Api::kDevice}, {"kernel", Api::kKernel}};
inline constexpr Word<Kind> kKinds[] = {
    {"latency", Kind::kLatency}, {"bandwidth", Kind::kBandwidth}, {"rate", Kind::kRate}};
inline constexpr Word<ScopeKind> kScopes[] = {
    {"thread", ScopeKind::kThread}, {"warp", ScopeKind::kWarp}, {"block", ScopeKind::kBlock}};
inline constexpr Word<ReduceOp> kReduceOps[] = {{"sum", ReduceOp::kSum}, {"prod", ReduceOp::kProd},
                                                {"min", ReduceOp::kMin}, {"max", ReduceOp::kMax},
                                                {"and", ReduceOp::kAnd}, {"or", ReduceOp::kOr},
                                                {"xor", ReduceOp::kXor}};
inline constexpr Word<Atomic> kAtomics[] = {
    {"set", Atomic::kSet},
    {"add", Atomic::kAdd},
    {"inc", Atomic::kInc},
    {"and", Atomic::kAnd},
    {"or", Atomic::kOr},
    {"xor", Atomic::kXor},
    {"fetch", Atomic::kFetch},
    {"swap", Atomic::kSwap},
    {"compare_swap", Atomic::kCompareSwap},
    {"fetch_add", Atomic::kFetchAdd},
    {"fetch_inc", Atomic::kFetchInc},
    {"fetch_and", Atomic::kFetchAnd},
    {"fetch_or", Atomic::kFetchOr},
    {"fetch_xor", Atomic::kFetchXor},
};

struct TypeInfo {
  std::string_view name;
  std::size_t bytes;
  Element element;
  bool amo, xamo;  // which atomics exist: include/compat/shmem/types.def.h
  bool floating;
};
std::span<const TypeInfo> types();
const TypeInfo* find_type(std::string_view name);  // null: no such type

// Whether the operation exists for the type.
bool allowed(ReduceOp op, const TypeInfo& type);
bool allowed(Atomic atomic, const TypeInfo& type);

template <class E, std::size_t N>
std::optional<E> find_word(const Word<E> (&table)[N], std::string_view name) {
  for (const auto& word : table)
    if (word.name == name) return word.value;
  return std::nullopt;
}
template <class E, std::size_t N>
std::string_view name_of(const Word<E> (&table)[N], E value) {
  for (const auto& word : table)
    if (word.value == value) return word.name;
  return "?";
}
template <class E, std::size_t N>
std::vector<std::string_view> names_of(const Word<E> (&table)[N]) {
  std::vector<std::string_view> names;
  for (const auto& word : table) names.push_back(word.name);
  return names;
}

inline std::string_view to_string(Api api) { return name_of(kApis, api); }
inline std::string_view to_string(Kind kind) { return name_of(kKinds, kind); }
inline std::string_view to_string(ScopeKind scope) { return name_of(kScopes, scope); }
inline std::string_view to_string(ReduceOp op) { return name_of(kReduceOps, op); }
inline std::string_view to_string(Atomic atomic) { return name_of(kAtomics, atomic); }

// The name of `names` that a mistyped one most likely meant; "" if none is near.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);

}  // namespace weft::perf
