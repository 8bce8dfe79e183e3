// p and g: a message moved one element a call.
#pragma once

#include "perftest/elements.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {

class ScalarPut : public PutTest {
 public:
  using PutTest::PutTest;
  Result<Ns> run_floor(Count iters) override {
    if (!job_.sends()) return Ns{0};
    ASSIGN_OR_RETURN(std::byte* const there, mapped(dst_));
    return floor::copy_strided(there, src_, point_.type->bytes, 1, point_.count(), iters);
  }
  Work work() const override {
    return {static_cast<double>(point_.count()), static_cast<double>(point_.bytes)};
  }
};

class ScalarGet : public GetTest {
 public:
  using GetTest::GetTest;
  Result<Ns> run_floor(Count iters) override {
    if (!job_.sends()) return Ns{0};
    ASSIGN_OR_RETURN(const std::byte* const there, mapped(src_));
    return floor::copy_strided(dst_, there, point_.type->bytes, 1, point_.count(), iters);
  }
  Work work() const override {
    return {static_cast<double>(point_.count()), static_cast<double>(point_.bytes)};
  }
};

inline constexpr std::string_view kBareStore = "the bare stores";
inline constexpr std::string_view kBareLoad = "the bare loads";

}  // namespace weft::perf
