// The options of operators' rows.
#include <limits>

#include <fmt/ranges.h>

#include "perftest/options_read.hpp"
#include "perftest/status.hpp"

namespace weft::perf {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

Status read_one_of(std::string_view option, const std::string& text,
                   const std::vector<std::string_view>& names) {
  for (const std::string_view name : names)
    if (text.empty() || text == name) return Status::ok();
  return choice_mistake(option, text, names);
}

}  // namespace

Status mistake(std::string_view option, std::string_view value, std::string_view allowed) {
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: '{}' is not allowed; {}", option, value, allowed));
}

Status choice_mistake(std::string_view option, std::string_view value,
                      const std::vector<std::string_view>& names) {
  const std::string_view near = nearest(value, names);
  const std::string hint = near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
  return mistake(option, value, fmt::format("choose from: {}{}", fmt::join(names, ", "), hint));
}

Status read_shapes(std::vector<std::string>& tests, std::vector<Shape>& shapes) {
  std::vector<int> numbers;
  for (const std::string& word : tests) {
    if (!is_number(word)) continue;
    RETURN_IF_ERROR(
        read_number("M N K", word, 1, std::numeric_limits<int>::max(), numbers.emplace_back()));
  }
  if (numbers.size() % 3 != 0)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("M N K: a shape has three numbers, and these are {}", numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    shapes.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  std::erase_if(tests, is_number);
  return Status::ok();
}

Status read_operators(const Raw& raw, OperatorOptions& o) {
  if (!raw.vs.empty()) {
    const auto baselines = baselines_named(raw.vs);
    if (!baselines) return mistake("--vs", raw.vs, "write nccl, cublas, nccl,cublas or none");
    o.baselines = *baselines;
  }
  if (!raw.nccl.empty()) o.nccl = raw.nccl;
  RETURN_IF_ERROR(
      read_one_of("--algorithm", raw.algorithm,
                  {"ll", "two-shot-ll", "lamport", "two-shot-lamport", "simple", "scattered-simple",
                   "zero-copy", "overlapped", "one-kernel", "sequential"}));
  o.algorithm = raw.algorithm;
  o.tile = raw.tile;
  o.tiles = raw.tiles;
  if (o.tiles && !o.tile.empty()) return mistake("--tile", o.tile, "--tiles are all of them");
  RETURN_IF_ERROR(read_one_of("--dtype", raw.dtype, {"bf16", "fp16", "e4m3"}));
  if (!raw.dtype.empty()) o.dtype = raw.dtype;
  RETURN_IF_ERROR(read_one_of("--memory", raw.memory, {"symmetric", "plain"}));
  o.symmetric = raw.memory != "plain";
  RETURN_IF_ERROR(read_number("-c/--ctas", raw.ctas, 1u, 65536u, o.blocks));
  RETURN_IF_ERROR(read_number("-t/--threads", raw.threads, 1u, 1024u, o.threads));
  RETURN_IF_ERROR(
      read_number("--hidden", raw.hidden, std::size_t{8}, std::size_t{1} << 24, o.hidden));
  if (o.hidden % 8 != 0) return mistake("--hidden", raw.hidden, "write a multiple of 8");
  RETURN_IF_ERROR(read_number("--rounds", raw.rounds, 1, 100000, o.rounds));
  RETURN_IF_ERROR(read_number("--pause", raw.pause, 0, 60000, o.pause_ms));
  o.table = raw.table;
  return Status::ok();
}

}  // namespace weft::perf
