// Queries for the PEs of a job, for teams, and for the address of a peer's memory.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

class NvshmemJobTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemJobTest, ::testing::ValuesIn(kWays), way_name);

TEST_P(NvshmemJobTest, Queries) {
  on_pes_with_module_state(GetParam(), 3, [](Pe& pe, WithModuleState& pictured) {
    int* seen = pe.allocate<int>(16);
    char* name = pe.allocate<char>(NVSHMEM_MAX_NAME_LEN);
    pictured.run(1, [=] {
      seen[0] = nvshmem_my_pe();
      seen[1] = nvshmem_n_pes();
      seen[2] = nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD);
      seen[3] = nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD);
      seen[4] = nvshmem_team_my_pe(kEven);
      seen[5] = nvshmem_team_n_pes(kEven);
      seen[6] = nvshmem_team_translate_pe(kEven, 1, NVSHMEM_TEAM_WORLD);
      seen[7] = nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, 1, kEven);
      seen[8] = nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID);
      seen[9] = nvshmem_team_n_pes(kEven + 1);
      nvshmem_info_get_version(seen + 10, seen + 11);
      nvshmemx_vendor_get_version_info(seen + 12, seen + 13, seen + 14);
      nvshmem_info_get_name(name);
    });
    const bool even = pe.pe() % 2 == 0;
    EXPECT_EQ(pe.pe(), seen[0]);
    EXPECT_EQ(3, seen[1]);
    EXPECT_EQ(pe.pe(), seen[2]);
    EXPECT_EQ(3, seen[3]);
    EXPECT_EQ(even ? pe.pe() / 2 : -1, seen[4]);
    EXPECT_EQ(even ? 2 : -1, seen[5]);
    if (even) EXPECT_EQ(2, seen[6]);
    EXPECT_EQ(-1, seen[7]);
    EXPECT_EQ(-1, seen[8]);
    EXPECT_EQ(-1, seen[9]);
    EXPECT_EQ(NVSHMEM_MAJOR_VERSION, seen[10]);
    EXPECT_EQ(NVSHMEM_MINOR_VERSION, seen[11]);
    EXPECT_EQ(NVSHMEM_VENDOR_MAJOR_VERSION, seen[12]);
    EXPECT_EQ(NVSHMEM_VENDOR_MINOR_VERSION, seen[13]);
    EXPECT_EQ(NVSHMEM_VENDOR_PATCH_VERSION, seen[14]);
    EXPECT_EQ(std::string(NVSHMEM_VENDOR_STRING), name);
  });
}

TEST_P(NvshmemJobTest, PointersToPeers) {
  on_pes_with_module_state(GetParam(), 2, [way = GetParam()](Pe& pe, WithModuleState& pictured) {
    int* word = pe.allocate<int>(1);
    *word = 100 + pe.pe();
    int* seen = pe.allocate<int>(2);
    pe.barrier();
    const int next = pe.next();
    pictured.run(1, [=] {
      const int* theirs = static_cast<int*>(nvshmem_ptr(word, next));
      seen[0] = theirs == nullptr ? -1 : *theirs;
      seen[1] =
          nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, word) == nullptr && nvshmem_ptr(word, -1) == nullptr;
    });
    if (way == Way::kMapped) EXPECT_EQ(100 + next, seen[0]);
    if (way == Way::kRing) EXPECT_EQ(-1, seen[0]);
    EXPECT_EQ(1, seen[1]);
  });
}

// Instead of writing to wherever nothing is.
TEST(NvshmemJobDeathTest, KernelsBeforeInitEnd) {
  weft_nvshmem_module_state = {};
  constexpr const char* kWhy = "nvshmem_init.. was not called";
  EXPECT_DEATH(nvshmem_my_pe(), kWhy);
  EXPECT_DEATH(nvshmem_barrier_all(), kWhy);
  int word = 0;
  EXPECT_DEATH(nvshmem_int_p(&word, 1, 0), kWhy);
}

}  // namespace
}  // namespace weft::test
