// Sizes that shrink to made-up machines.
#include "host/runtime/defaults.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = kMiB << 10;

// PEs that are processes of one machine, each with so much left.
std::vector<Facts> machine(std::size_t pes, std::uint64_t memory, std::uint64_t address_space) {
  std::vector<Facts> all(pes);
  for (std::size_t pe = 0; pe < pes; ++pe) {
    all[pe].boot_id[0] = 'a';
    all[pe].process[0] = static_cast<std::byte>(pe);
    all[pe].memory = memory;
    all[pe].address_space = address_space;
  }
  return all;
}
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

Options fitted(const std::vector<Facts>& facts, Options options = {}) {
  shrink_defaults(options, facts);
  return options;
}

TEST(Defaults, StayWhereThereIsEnough) {
  const Options plain, got = fitted(machine(4, 16 * kGiB, kNoLimit));
  EXPECT_EQ(got.heap_size, plain.heap_size);
  EXPECT_EQ(got.heap_chunk, plain.heap_chunk);
  EXPECT_EQ(got.adopt_size, plain.adopt_size);
}

TEST(Defaults, StepsAreAQuarterOfTheLeastMemoryOfAnyPe) {
  std::vector<Facts> facts = machine(3, 16 * kGiB, kNoLimit);
  facts[1].memory = 100 * kMiB;
  EXPECT_EQ(fitted(facts).heap_chunk, 16 * kMiB);
  facts[1].memory = 0;
  EXPECT_EQ(fitted(facts).heap_chunk, 2 * kMiB);
}

TEST(Defaults, HeapsOfAllPesOfAMachineFitIntoHalfOfTheAddressSpace) {
  for (const std::size_t pes : {1, 2, 7}) {
    const Options got = fitted(machine(pes, 16 * kGiB, 4 * kGiB));
    EXPECT_LE(pes * (got.heap_size + got.adopt_size), 2 * kGiB) << pes;
    EXPECT_GE(pes * (got.heap_size + got.adopt_size), kGiB) << pes;
    EXPECT_EQ(got.heap_size % (2 * kMiB), 0u);
  }
}

// Each thread of a process reserves for the PEs of other processes, in the same address space.
TEST(Defaults, CountThreadsAndOtherMachines) {
  std::vector<Facts> facts = machine(4, 16 * kGiB, 4 * kGiB);
  facts[1].process = facts[0].process;
  const Options both = fitted(facts);
  EXPECT_LE(2 * 3 * (both.heap_size + both.adopt_size), 2 * kGiB);
  facts = machine(2, 16 * kGiB, 4 * kGiB);
  facts[1].boot_id[0] = 'b';
  EXPECT_GT(fitted(facts).heap_size, fitted(machine(2, 16 * kGiB, 4 * kGiB)).heap_size);
}

TEST(Defaults, WhatSomebodyChoseStays) {
  Options options;
  options.heap_size = 8 * kGiB;
  options.heap_chunk = kGiB;
  options.adopt_size = 3 * kGiB;
  const Options got = fitted(machine(2, 100 * kMiB, kGiB), options);
  EXPECT_EQ(got.heap_size, 8 * kGiB);
  EXPECT_EQ(got.heap_chunk, kGiB);
  EXPECT_EQ(got.adopt_size, 3 * kGiB);
}

}  // namespace
}  // namespace weft
