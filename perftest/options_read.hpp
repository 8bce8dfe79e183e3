// Reading the arguments of weft-perf, as options.cpp and options_operators.cpp do.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "perftest/options.hpp"

namespace weft::perf {

// The arguments as they were typed, before they are checked.
struct Raw {
  std::vector<std::string> tests;
  std::string api, kind, min, max, step, iters, window, warmup, seconds, ctas, threads, datatype,
      op, scope, stride, atomic, pes, seed, vs, nccl, algorithm, tile, dtype, memory, hidden,
      rounds, pause, table, since;
  bool bidir = false, msgrate = false, floor = false, csv = false, json = false, version = false,
       tiles = false;
};

Status mistake(std::string_view option, std::string_view value, std::string_view allowed);
Status choice_mistake(std::string_view option, std::string_view value,
                      const std::vector<std::string_view>& names);

template <class T>
Status read_number(std::string_view option, const std::string& text, T low, T high, T& out) {
  if (text.empty()) return Status::ok();
  const char* const end = text.data() + text.size();
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  // The last condition also refuses NaN.
  if (error != std::errc() || rest != end || !(value >= low && value <= high))
    return mistake(option, text,
                   fmt::format("write a {} from {} to {}",
                               std::is_integral_v<T> ? "whole number" : "number", low, high));
  out = value;
  return Status::ok();
}

// Numbers among the names of tests are shapes, M N K each.
Status read_shapes(std::vector<std::string>& tests, std::vector<Shape>& shapes);
Status read_operators(const Raw& raw, OperatorOptions& options);

}  // namespace weft::perf
