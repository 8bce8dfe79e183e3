// The part of one PE in the tests of operators that move rows beside a GEMM: calls behind one
// another with fresh operands, none waited for, into outputs full of NaNs, compared bit by bit with
// a model of the operator.
//
// A model says what an operator is, and what it makes of its operands:
//   Operator, Options, Algorithm, kName; kReport: what is said of a member that does not come
//   options(algorithm)            so little of a GPU that eight PEs may share it
//   rows(each, members)           m of a call in which each member has, or gets, `each` rows
//   problems(npes, algorithm)     none, one, odd, edges of tiles; room between rows or none
//   Model(rt, team, problem, options.gemm), problem()
//   b(), a(m, seed)               what this PE gives
//   outputs(m, seed, iteration)   what it gets in that iteration: c, and what else it asks for
//   queue(op, stream, out, a, b, m)
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/kernels/collective_play.hpp"
#include "tests/kernels/matrices.hpp"

namespace weft::kernels::test {

// Memory that kernels reach; goes with its runtime. Collective: as many elements on every PE.
class Memory {
 public:
  static Result<Memory> create(Runtime& rt, const Bits& bits) {
    Memory made;
    made.rt_ = &rt;
    made.count_ = bits.size();
    ASSIGN_OR_RETURN(made.data_, rt.allocate_device<std::uint16_t>(bits.size(), 64));
    RETURN_IF_ERROR(rt.context().put(made.data_, bits.data(), bits.size(), rt.pe()));
    RETURN_IF_ERROR(rt.context().quiet());
    return made;
  }
  Result<Bits> read() const {
    Bits bits(count_);
    RETURN_IF_ERROR(rt_->context().get(bits.data(), data_, count_, rt_->pe()));
    return bits;
  }
  std::uint16_t* data() const { return data_; }

 private:
  Runtime* rt_ = nullptr;
  std::size_t count_ = 0;
  std::uint16_t* data_ = nullptr;
};

inline GemmOptions small_gemm() {
  GemmOptions options;
#if !WEFT_TARGET_CPU
  options.num_sms = 14;
  options.tile = "128x128";
#endif
  return options;
}

template <class Model>
class Play {
 public:
  using Options = typename Model::Options;

  static Result<Play> create(Runtime& rt, const Team& team, const GemmProblem& problem,
                             const Options& options) {
    Model model(rt, team, with_strides(problem), options.gemm);
    auto op = Model::Operator::create(rt, team, model.problem(), options);
    if (!op) return std::move(op).status();
    ASSIGN_OR_RETURN(const Memory b, Memory::create(rt, model.b()));
    const std::string who = fmt::format("{}\n  rank {}", op->describe(), team.rank);
    return Play(rt, std::move(model), std::move(*op), b, who);
  }

  // One call more, of m rows.
  Status prepare(std::int64_t m, std::uint64_t seed) {
    Call call;
    call.m = m;
    ASSIGN_OR_RETURN(call.want, model_.outputs(m, seed, calls_.size()));
    ASSIGN_OR_RETURN(call.a, Memory::create(*rt_, model_.a(m, seed)));
    for (const Bits& want : call.want) {
      ASSIGN_OR_RETURN(const Memory out, Memory::create(*rt_, Bits(want.size(), kPoison)));
      call.out.push_back(out);
    }
    calls_.push_back(std::move(call));
    return Status::ok();
  }
  Status queue(Stream stream, std::size_t i) {
    const Call& call = calls_[i];
    std::vector<std::uint16_t*> out;
    for (const Memory& one : call.out) out.push_back(one.data());
    return model_.queue(op_, stream, out, call.a.data(), b_.data(), call.m);
  }
  Status check(std::size_t i) const {
    const Call& call = calls_[i];
    for (std::size_t k = 0; k < call.out.size(); ++k) {
      ASSIGN_OR_RETURN(const Bits out, call.out[k].read());
      compare(out, call.want[k],
              fmt::format("{}, {} rows, output {} of call {}", who_, call.m, k, i));
    }
    return Status::ok();
  }
  Result<Bits> read(std::size_t i) const { return calls_[i].out[0].read(); }

  // `pause` is called before each call, by the host.
  Status run(
      const std::vector<std::int64_t>& rows, std::uint64_t seed,
      const std::function<void()>& pause = [] {}) {
    for (const std::int64_t m : rows) RETURN_IF_ERROR(prepare(m, seed++));
    RETURN_IF_ERROR(rt_->barrier());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      pause();
      RETURN_IF_ERROR(queue(nullptr, i));
    }
    RETURN_IF_ERROR(dev::synchronize());
    for (std::size_t i = 0; i < rows.size(); ++i) RETURN_IF_ERROR(check(i));
    RETURN_IF_ERROR(rt_->health());
    return rt_->barrier();
  }

 private:
  struct Call {
    std::int64_t m = 0;
    Memory a;
    std::vector<Memory> out;
    std::vector<Bits> want;
  };
  Play(Runtime& rt, Model model, typename Model::Operator op, const Memory& b, std::string who)
      : rt_(&rt), model_(std::move(model)), op_(std::move(op)), b_(b), who_(std::move(who)) {}

  // The first difference is enough.
  void compare(const Bits& is, const Bits& want, const std::string& text) const {
    const auto stride = static_cast<std::size_t>(std::max<std::int64_t>(1, model_.problem().ldc));
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (is[i] == want[i]) continue;
      ADD_FAILURE() << text
                    << fmt::format(": {:04x}, not {:04x} in element {}, of c: row {} column {}",
                                   is[i], want[i], i, i / stride, i % stride);
      return;
    }
  }

  Runtime* rt_;
  Model model_;
  typename Model::Operator op_;
  Memory b_;
  std::string who_;
  std::vector<Call> calls_;
};

template <class Model>
Status play(
    Runtime& rt, const Team& team, const GemmProblem& problem,
    const typename Model::Options& options, const std::vector<std::int64_t>& rows,
    std::uint64_t seed, const std::function<void()>& pause = [] {}) {
  auto made = Play<Model>::create(rt, team, problem, options);
  if (!made) return std::move(made).status();
  return made->run(rows, seed, pause);
}

}  // namespace weft::kernels::test
