// Operator: an AgGemm, GemmRs or GemmAr behind its interface: what it was given, and the strategies
// by which its calls go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/core/strategy.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::fused {

class Operator {
 public:
  // `name`: as describe() begins.
  Operator(const char* name, const Setting& setting) : name_(name), setting_(setting) {}

  // In the order in which calls are to prefer them; then bind().
  void add(std::unique_ptr<Strategy<GemmCall>> strategy) { strategies_.add(std::move(strategy)); }
  Status bind(Runtime& runtime, const Arena* arena) { return strategies_.bind(runtime, arena); }

  // `rows`: of c that this PE has.
  Status run(Stream stream, const GemmCall& call, std::int64_t rows) const;
  std::string describe() const;
  std::size_t workspace_bytes() const { return strategies_.workspace_bytes(); }
  const Setting& setting() const { return setting_; }
  std::int64_t most_rows() const { return setting_.problem.m; }

 private:
  const char* const name_;
  const Setting setting_;
  Strategies<GemmCall> strategies_;
};

}  // namespace weft::kernels::fused
