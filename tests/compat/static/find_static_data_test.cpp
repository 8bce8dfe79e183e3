// Which memory is taken for static data.
#include "host/api/shmem/find_static_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/compat/static/library.h"

namespace weft::shmem {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

long initialised = 1;
long zeroed[5000];
const long constant = 2;
const long* const relocated = &constant;
thread_local long of_thread = 3;

const OwnMemory* find(const std::vector<OwnMemory>& pieces, const volatile void* address) {
  for (const OwnMemory& piece : pieces) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(piece.address);
    if (offset < piece.bytes) return &piece;
  }
  return nullptr;
}

TEST(FindStaticData, NobodyHasNone) { EXPECT_THAT(find_static_data(Owner::kNobody), IsEmpty()); }

TEST(FindStaticData, TheProgramsVariablesAreInWholePages) {
  const auto pieces = find_static_data(Owner::kProgram);
  ASSERT_FALSE(pieces.empty());
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const OwnMemory& piece : pieces) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.address) % page, 0u);
    EXPECT_EQ(piece.bytes % page, 0u);
    EXPECT_THAT(piece.name, HasSubstr("the program (")) << piece.name;
    EXPECT_THAT(piece.name, HasSubstr("build id")) << piece.name;
  }
  EXPECT_NE(find(pieces, &initialised), nullptr);
  EXPECT_NE(find(pieces, &zeroed[0]), nullptr);
  EXPECT_NE(find(pieces, &zeroed[4999]), nullptr);
}

TEST(FindStaticData, ConstantsStacksHeapsAndThreadsAreOutside) {
  const auto pieces = find_static_data(Owner::kProgramAndLibraries);
  const long local = 0;
  void* const allocated = std::malloc(1);
  EXPECT_EQ(find(pieces, &constant), nullptr);
  EXPECT_EQ(find(pieces, &relocated), nullptr);
  EXPECT_EQ(find(pieces, &local), nullptr);
  EXPECT_EQ(find(pieces, allocated), nullptr);
  EXPECT_EQ(find(pieces, &of_thread), nullptr);
  std::free(allocated);
}

TEST(FindStaticData, LibrariesComeOnRequest) {
  long* const hidden = library_hidden();
  EXPECT_EQ(find(find_static_data(Owner::kProgram), hidden), nullptr);
  const auto all = find_static_data(Owner::kProgramAndLibraries);
  const OwnMemory* const piece = find(all, hidden);
  ASSERT_NE(piece, nullptr);
  EXPECT_THAT(piece->name, HasSubstr("libstatic_data_library.so ("));
  EXPECT_EQ(find(all, stdout), nullptr) << "the system's";
}

TEST(FindStaticData, IsTheSameEachTime) {
  const auto once = find_static_data(Owner::kProgramAndLibraries);
  const auto again = find_static_data(Owner::kProgramAndLibraries);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].address, again[i].address);
    EXPECT_EQ(once[i].bytes, again[i].bytes);
    EXPECT_EQ(once[i].name, again[i].name);
  }
}

}  // namespace
}  // namespace weft::shmem
