// Making an operator takes few exchanges of all PEs: each exchange and each allocation is a wait
// for all of them. The linker passes the operators' calls of the runtime through the counters here.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <weft/collective.hpp>
#include <weft/device.hpp>
#include <weft/kernels/ag_gemm.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/arena.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm_ar.hpp>
#include <weft/kernels/gemm_rs.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {

// The calls of all PEs.
std::atomic<int> exchanges{0}, broadcasts{0}, workspaces{0};

#define WEFT_WRAPPED(result, name, symbol, parameters)     \
  result real_##name parameters __asm__("__real_" symbol); \
  result wrap_##name parameters __asm__("__wrap_" symbol)

WEFT_WRAPPED(Status, fcollect, "_ZN4weft14fcollect_bytesERNS_7ContextERKNS_4TeamEPvPKvm",
             (Context & ctx, const Team& team, void* dst, const void* src, std::size_t bytes));
WEFT_WRAPPED(Status, broadcast, "_ZN4weft15broadcast_bytesERNS_7ContextERKNS_4TeamEPvPKvmib",
             (Context & ctx, const Team& team, void* dst, const void* src, std::size_t bytes,
              int root, bool root_too));
WEFT_WRAPPED(Result<void*>, callocate, "_ZN4weft7Runtime15callocate_bytesEmmNS_10MemoryKindE",
             (Runtime * runtime, std::size_t count, std::size_t size, MemoryKind kind));

Status wrap_fcollect(Context& ctx, const Team& team, void* dst, const void* src,
                     std::size_t bytes) {
  ++exchanges;
  return real_fcollect(ctx, team, dst, src, bytes);
}
Status wrap_broadcast(Context& ctx, const Team& team, void* dst, const void* src, std::size_t bytes,
                      int root, bool root_too) {
  ++broadcasts;
  return real_broadcast(ctx, team, dst, src, bytes, root, root_too);
}
Result<void*> wrap_callocate(Runtime* runtime, std::size_t count, std::size_t size,
                             MemoryKind kind) {
  ++workspaces;
  return real_callocate(runtime, count, size, kind);
}

namespace kernels {
namespace {

constexpr int kPes = 3;

void expect_counts(int all_exchanges, int allocations,
                   const std::function<Status(Runtime&)>& create) {
  EXPECT_OK(run_local(kPes, [&](Runtime& rt) -> Status {
    // All have begun, so what a runtime itself exchanges is over.
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 0) exchanges = broadcasts = workspaces = 0;
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(create(rt));
    return rt.barrier();
  }));
  EXPECT_EQ(exchanges, all_exchanges);
  EXPECT_EQ(broadcasts, 0);
  EXPECT_EQ(workspaces, allocations);
}
void expect_one_of_each(const std::function<Status(Runtime&)>& create) {
  expect_counts(kPes, kPes, create);
}

template <class Op>
void expect_collective() {
  expect_one_of_each([](Runtime& rt) {
    CollectiveProblem problem;
    problem.max_count = 5000;
    return Op::create(rt, problem).status();
  });
}

TEST(Create, OfACollectiveIsOneExchangeAndOneAllocation) {
  expect_collective<AllReduce>();
  expect_collective<AllGather>();
  expect_collective<ReduceScatter>();
  expect_collective<AllToAll>();
  expect_collective<AllToAllV>();
  expect_collective<Broadcast>();
  expect_one_of_each([](Runtime& rt) {
    AllReduceNormProblem problem;
    problem.max_rows = 9;
    problem.hidden = 200;
    return AllReduceNorm::create(rt, problem).status();
  });
}

// The columns of C lie apart, so that its rows are copied, too.
GemmProblem gemm_problem() {
  GemmProblem problem;
  problem.m = 60 * kPes;
  problem.n = 70;
  problem.k = 80;
  problem.ldc = 80;
  return problem;
}

TEST(Create, OfAFusedOperatorIsOneExchangeAndOneAllocationWithAllItsParts) {
  expect_one_of_each([](Runtime& rt) { return AgGemm::create(rt, gemm_problem()).status(); });
  expect_one_of_each([](Runtime& rt) { return GemmRs::create(rt, gemm_problem()).status(); });
  expect_one_of_each([](Runtime& rt) { return GemmAr::create(rt, gemm_problem()).status(); });
}

// Two operators of an arena that is large enough: no allocation of their own, and right at once.
TEST(Create, OfAnArenasOperatorsIsOneAllocationForAll) {
  expect_counts(2 * kPes, kPes, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Arena arena, Arena::create(rt, 32 << 20));
    ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 5000}, {.arena = &arena}));
    ASSIGN_OR_RETURN(AllGather all, AllGather::create(rt, {.max_count = 700}, {.arena = &arena}));
    EXPECT_GE(arena.used_bytes(), sum.workspace_bytes() + all.workspace_bytes());
    EXPECT_LE(arena.used_bytes(), arena.bytes());
    for (int call = 0; call < 3; ++call) {
      std::vector<float> in(700, static_cast<float>(rt.pe() + call)), sums(700),
          gathered(700 * kPes);
      RETURN_IF_ERROR(sum(nullptr, sums.data(), in.data(), in.size()));
      RETURN_IF_ERROR(all(nullptr, gathered.data(), in.data(), in.size()));
      RETURN_IF_ERROR(dev::synchronize());
      EXPECT_EQ(sums, std::vector<float>(700, static_cast<float>(3 + kPes * call)));
      for (int pe = 0; pe < kPes; ++pe)
        EXPECT_EQ(gathered[static_cast<std::size_t>(700 * pe + 699)],
                  static_cast<float>(pe + call));
    }
    return rt.barrier();
  });
}

// One that is too small grows by one allocation for each create() that does not fit. The arena may
// go first.
TEST(Create, OfAnArenaThatIsFullIsOneAllocation) {
  expect_counts(2 * kPes, 3 * kPes, [](Runtime& rt) -> Status {
    std::optional<GemmAr> product;
    std::optional<AllReduce> sum;
    {
      ASSIGN_OR_RETURN(Arena arena, Arena::create(rt, 512));
      ASSIGN_OR_RETURN(GemmAr made, GemmAr::create(rt, gemm_problem(), {.arena = &arena}));
      product.emplace(std::move(made));
      ASSIGN_OR_RETURN(AllReduce other,
                       AllReduce::create(rt, {.max_count = 5000}, {.arena = &arena}));
      sum.emplace(std::move(other));
    }
    std::vector<float> in(9, 2), out(9);
    RETURN_IF_ERROR((*sum)(nullptr, out.data(), in.data(), in.size()));
    RETURN_IF_ERROR(dev::synchronize());
    EXPECT_EQ(out, std::vector<float>(9, 2 * kPes));
    return rt.barrier();
  });
}

TEST(Create, RefusesAnArenaThatPesUseDifferently) {
  EXPECT_OK(run_local(kPes, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Arena arena, Arena::create(rt, 1 << 20));
    CollectiveOptions options;
    if (rt.pe() != 1) options.arena = &arena;
    const auto made = AllReduce::create(rt, {.max_count = 50}, options);
    EXPECT_CODE(made.status(), Code::kInvalidArgument);
    EXPECT_NE(std::string(made.status().text()).find("options.arena"), std::string::npos);
    return rt.barrier();
  }));
}

}  // namespace
}  // namespace kernels
}  // namespace weft
