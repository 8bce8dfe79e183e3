// The work of one PE in the collectives' tests, whatever kind of job it is in.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/device/collective_kernels.hpp"
#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/random.hpp"

namespace weft::test {

inline const std::vector<Element> kKernelTypes = {Element::kInt32, Element::kDouble};

template <class F>
void with_kernel_type(Element element, F f) {
  if (element == Element::kInt32) return f(std::int32_t{});
  return f(double{});
}

template <class Scope, class T>
void call_by_scope(Pe& pe, const DeviceContext& handle, unsigned threads, const script::Step& step,
                   const Team& team, const script::StepData<T>& data) {
  SharedVector<int> answers(threads, -1);
  const StepCall<T> call{handle,
                         team,
                         step.kind,
                         step.count,
                         data.source_count(),
                         step.root,
                         step.dst_stride,
                         step.src_stride,
                         data.dst(),
                         data.src(),
                         answers.data()};
  if (step.kind < script::Kind::kReduce) {
    pe.run(1, threads, MoveStep<Scope, T>{call});
  } else {
    script::with_op<T>(step.op, [&](auto op) {
      // The operator is nothing to the scopes; every pair would only take long to compile.
      constexpr ReduceOp kOp = decltype(op)::value;
      using By = std::conditional_t<kOp == ReduceOp::kSum, Scope, dev::Block>;
      pe.run(1, threads, ReduceStep<By, T, kOp>{call});
      return true;
    });
  }
  for (int answer : answers) EXPECT_EQ(answer, 1) << data.what();
}

// By a scope that chance gives, the same for all members.
template <class T>
void call_in_kernel(Pe& pe, const DeviceContext& handle, std::uint64_t chance,
                    const script::Step& step, const Team& team, const script::StepData<T>& data) {
  switch (chance % 3) {
    case 0: return call_by_scope<dev::Thread>(pe, handle, 1, step, team, data);
    case 1: return call_by_scope<dev::Warp>(pe, handle, kWarp - 1, step, team, data);
    default: return call_by_scope<dev::Block>(pe, handle, kWarp + 2, step, team, data);
  }
}

// The whole script; `call(random, chance, step, team, data)` makes the call of a step: `random` is
// the PE's own, `chance` the same on all.
template <class Call>
void play(Pe& pe, const script::Script& script, const script::ScriptShape& shape, Call call) {
  std::vector<Team> teams = {pe.world()};
  for (std::size_t i = 1; i < script.teams.size(); ++i) teams.push_back(pe.team(script.teams[i]));
  const std::size_t bytes = script::script_buffer_bytes(shape);
  auto* src = pe.allocate<std::byte>(bytes);
  auto* dst = pe.allocate<std::byte>(bytes);
  std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(pe.pe())), agreed(test_seed());
  pe.barrier();
  for (const script::Step& step : script.steps) {
    const Team& team = teams[static_cast<std::size_t>(step.team)];
    const std::uint64_t chance = agreed();
    if (!team.is_member()) continue;
    with_kernel_type(step.type, [&](auto zero) {
      script::StepData<decltype(zero)> data(step, team, src, dst, bytes);
      data.prepare();
      call(random, chance, step, team, data);
      EXPECT_EQ(data.check(), "");
      data.spoil();
    });
    if (::testing::Test::HasFailure()) break;
  }
  pe.barrier();
}

// Several teams of all PEs, rotated by their numbers, in one grid.
inline void use_a_team_per_block(Pe& pe) {
  constexpr unsigned kBlocks = 3, kThreads = kWarp - 1;
  SharedVector<Team> teams;
  for (int block = 0; block < static_cast<int>(kBlocks); ++block) {
    std::vector<int> members;
    for (int i = 0; i < pe.npes(); ++i) members.push_back((i + block) % pe.npes());
    teams.push_back(pe.team(members));
  }
  auto* words = pe.allocate<std::int64_t>(4 * kBlocks);
  SharedVector<int> answers(kBlocks * kThreads, -1);
  pe.barrier();
  pe.run(kBlocks, kThreads, ManyCalls{pe.handle(), teams.data(), words, 20, answers.data()});
  for (int answer : answers) EXPECT_EQ(answer, 1);
  pe.barrier();
}

template <class Scope>
void call_with_many_sizes(Pe& pe, const Team& team, unsigned threads) {
  using Kernel = ManySizes<Scope>;
  auto* memory = pe.allocate<std::uint8_t>(2 * static_cast<std::size_t>(pe.npes()) *
                                           (Kernel::kMostBytes + 16));
  SharedVector<int> wrong(threads, -1);
  pe.barrier();
  if (team.is_member()) {
    pe.run(1, threads, Kernel{pe.handle(), team, memory, wrong.data()});
    for (int each : wrong) EXPECT_EQ(each, 0);
  }
  pe.barrier();
}

}  // namespace weft::test
