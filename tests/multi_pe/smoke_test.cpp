// The shortest way through everything: a ring of signals, a put, a barrier.
#include <gtest/gtest.h>

#include <cstdint>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

class SmokeTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(SmokeTest, RingOfSignals) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const value, rt.callocate<std::uint64_t>(1));
    ASSIGN_OR_RETURN(auto* const signal, rt.callocate<std::uint64_t>(1));
    Context& ctx = rt.context();
    const int next = (rt.pe() + 1) % rt.npes();
    const int previous = (rt.pe() + rt.npes() - 1) % rt.npes();
    const auto mine = static_cast<std::uint64_t>(rt.pe()) + 100;
    RETURN_IF_ERROR(ctx.put(value, &mine, 1, next, set(signal, 7)));
    ASSIGN_OR_RETURN(const std::uint64_t seen, signal_wait_until(ctx, signal, Cmp::kEq, 7));
    EXPECT_EQ(seen, 7u);
    EXPECT_EQ(*value, static_cast<std::uint64_t>(previous) + 100);
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.free(signal));
    return rt.free(value);
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, SmokeTest, ::testing::ValuesIn(pe_groups({1, 2, 4})), pe_group_name);

}  // namespace
}  // namespace weft
