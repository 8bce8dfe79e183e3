// PeGroup: one test body, its PEs as threads or as processes, plain or with an injected fault.
//
//   class PutTest : public ::testing::TestWithParam<PeGroup> {};
//   TEST_P(PutTest, Arrives) {
//     EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
//       ASSIGN_OR_RETURN(auto* word, rt.callocate<std::uint64_t>(1));
//       EXPECT_EQ(*word, 0u);  // EXPECT_*, not ASSERT_*, since the body returns a Status
//       return rt.barrier();
//     }));
//   }
//   INSTANTIATE_TEST_SUITE_P(Pes, PutTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);
//
// A PE that is a process is this program started anew for the running test alone: it comes to the
// same run_pes() and there runs the body. So what a body captures must come out the same when the
// test runs again (seeds: test_seed() of random.hpp does), and what a body writes to a captured
// variable reaches the test in the case of threads only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <weft/options.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>

namespace weft {

enum class Pes { kThreads, kProcesses };

struct PeGroup {
  Pes pes = Pes::kThreads;
  int npes = 2;
  Options options;  // the fault among them: options.fault = kLateFault
  // Options that differ from PE to PE; processes only.
  std::function<void(int pe, Options& options)> tune;
};

using PeBody = std::function<Status(Runtime&)>;

// Delivers every unfenced put as late and as out of order as the memory model allows.
std::string late_fault();

// {threads, processes} x {plain, late} for each number of PEs.
std::vector<PeGroup> pe_groups(const std::vector<int>& npes, const Options& options = {});
// "threads_4_late", as a test's name.
std::string pe_group_name(const ::testing::TestParamInfo<PeGroup>& info);
void PrintTo(const PeGroup& group, std::ostream* out);

// The first failure of a PE. Failed EXPECT_* of a PE that is a process count, too.
Status run_pes(const PeGroup& group, const PeBody& body);

// How each PE ended, for tests of failures. Processes only.
struct PeEnd {
  Code code = Code::kOk;  // what the body, or the making of its runtime, returned
  int signal = 0;         // not 0: was killed by it
  bool failed = false;    // an EXPECT_* did
  std::string log;        // what it wrote to standard output and error
};
std::vector<PeEnd> watch_pes(const PeGroup& group, const PeBody& body);

// True in a PE that is a process: code around run_pes() that must run once asks here.
bool is_pe_process();

}  // namespace weft
