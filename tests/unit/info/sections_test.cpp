// The sections must agree with the system about this very machine.
#include "host/info/sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "host/info/option_list.hpp"
#include "src/base/option_table.hpp"
#include "tests/unit/base/scoped_env.hpp"
#include "tests/unit/info/line_of.hpp"

namespace weft::info {
namespace {

using ::testing::HasSubstr;

TEST(Sections, UsableThreadsAreThoseOfTheMask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const Section machine = machine_section();
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(line_of(machine, "usable threads").data, 1);
  EXPECT_EQ(line_of(machine, "usable threads").value, "1 (numbers " + std::to_string(first) + ")");
  EXPECT_GE(line_of(machine, "hardware threads").data, CPU_COUNT(&before));
}

TEST(Sections, WhatIsMissingSaysWhy) {
  for (const Section& section : {build_section(), capabilities_section(Options{})}) {
    for (const Line& line : section.lines) {
      EXPECT_FALSE(line.value.empty()) << line.name;
      EXPECT_TRUE(line.mend.empty() || line.mark == Mark::kNo) << line.name;
    }
  }
}

TEST(Sections, AHeapThatCannotBeHadIsMissing) {
  Options options;
  options.heap_size = std::uint64_t{1} << 62;  // more than any address space
  const Line heap = line_of(capabilities_section(options), "heap");
  EXPECT_EQ(heap.mark, Mark::kNo);
  EXPECT_FALSE(heap.value.empty());
}

TEST(Launchers, TellWhatWouldBeChosenAndWhy) {
  ScopedEnv env;
  env.clear_weft();
  for (const char* name : {"PMI_FD", "PMIX_NAMESPACE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE",
                           "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    env.set(name, "");
  }
  EXPECT_THAT(line_of(launchers_section({}), "bootstrap").value, HasSubstr("single: no launcher"));
  EXPECT_EQ(line_of(launchers_section({}), "pmi").mark, Mark::kNo);

  env.set("SLURM_STEP_NUM_TASKS", "4");
  const Line refused = line_of(launchers_section({}), "bootstrap");
  EXPECT_EQ(refused.mark, Mark::kNo);
  EXPECT_THAT(refused.value, HasSubstr("--mpi=pmi2"));

  env.set("PMIX_NAMESPACE", "job.7");
  env.set("PMIX_RANK", "3");
  EXPECT_THAT(line_of(launchers_section({}), "bootstrap").value, HasSubstr("pmix: PMIX_NAMESPACE"));
  EXPECT_EQ(line_of(launchers_section({}), "pmix").value, "rank 3 of namespace job.7");
}

TEST(Launchers, ALibraryThatIsNotThereHasItsMend) {
  Options options;
  options.pmix_library = "/nowhere/libpmix.so.2";
  options.mpi_library = "/nowhere/libmpi.so";
  const Section launchers = launchers_section(options);
  EXPECT_THAT(line_of(launchers, "pmix library").value, HasSubstr("WEFT_PMIX_LIBRARY"));
  EXPECT_THAT(line_of(launchers, "mpi library").value, HasSubstr("WEFT_MPI_LIBRARY"));
}

TEST(Transports, AJobOfOneReachesItself) {
  auto bootstrap = make_single_bootstrap();
  const std::vector<Section> sections = transport_sections(Options{}, *bootstrap);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(line_of(sections[0], "p2p").mark, Mark::kYes);
  EXPECT_EQ(line_of(sections[1], "job").value, "this is PE 0 of 1");
  EXPECT_THAT(line_of(sections[1], "PE 0").value, HasSubstr("loopback"));
}

TEST(Transports, PesReachedAlikeShareALine) {
  auto job = make_local_bootstraps(5, Options{});
  std::vector<Section> of_two;
  std::vector<std::thread> pes;
  for (std::size_t pe = 0; pe < job.size(); ++pe) {
    pes.emplace_back([&, pe] {
      std::vector<Section> sections = transport_sections(Options{}, *job[pe]);
      if (pe == 2) of_two = std::move(sections);
    });
  }
  for (std::thread& pe : pes) pe.join();
  ASSERT_EQ(of_two.size(), 2u);
  EXPECT_EQ(line_of(of_two[1], "job").data, nlohmann::json({{"pe", 2}, {"npes", 5}}));
  EXPECT_THAT(line_of(of_two[1], "PE 2").value, HasSubstr("loopback"));
  EXPECT_THAT(line_of(of_two[1], "PEs 0-1,3-4").value, HasSubstr("p2p"));
}

TEST(Transports, OneThatIsNotAskedForHasAMend) {
  Options options;
  options.transports = options.gpu_transports = "loopback";
  auto bootstrap = make_single_bootstrap();
  const Line p2p = line_of(transport_sections(options, *bootstrap)[0], "p2p");
  EXPECT_EQ(p2p.mark, Mark::kNo);
  EXPECT_EQ(p2p.mend, "WEFT_TRANSPORTS=loopback,p2p");
}

TEST(Transports, AWrongListIsExplained) {
  Options options;
  options.transports = "telepathy";
  auto bootstrap = make_single_bootstrap();
  const std::vector<Section> sections = transport_sections(options, *bootstrap);
  EXPECT_EQ(line_of(sections[0], "p2p").mark, Mark::kNo);
  EXPECT_THAT(line_of(sections[1], "none").value, HasSubstr("telepathy"));
}

TEST(OptionList, ShowsTheEnvironmentsValuesAndMarksThem) {
  ScopedEnv env;
  env.clear_weft();
  EXPECT_EQ(options_set().lines.at(0).name, "none");
  env.set("WEFT_HEAP_SIZE", "2048m");
  env.set("WEFT_CHECK", "maybe");
  env.set("WEFT_HEAPSIZE", "1");
  const std::string text = options_text();
  EXPECT_THAT(text, HasSubstr("\n* WEFT_HEAP_SIZE       2g   (default 16g)   size: 1m to 16t\n"));
  EXPECT_THAT(text, HasSubstr("      REFUSED: WEFT_CHECK: 'maybe'"));
  EXPECT_THAT(text, HasSubstr("\n  WEFT_PE "));

  const Section set = options_set();
  EXPECT_EQ(line_of(set, "WEFT_HEAP_SIZE").value, "2g");
  EXPECT_EQ(line_of(set, "WEFT_CHECK").mark, Mark::kNo);
  EXPECT_EQ(line_of(set, "WEFT_HEAPSIZE").mend, "did you mean WEFT_HEAP_SIZE?");

  const nlohmann::json all = options_json();
  ASSERT_EQ(all.size(), option_table().size());
  for (const auto& entry : all) {
    const std::string name = entry["name"];
    EXPECT_EQ(entry["set_in_environment"], name == "WEFT_HEAP_SIZE" || name == "WEFT_CHECK")
        << name;
    EXPECT_EQ(entry.contains("problem"), name == "WEFT_CHECK") << name;
  }
}

TEST(OptionList, KeepsTheJobsSecret) {
  ScopedEnv env;
  env.clear_weft();
  env.set("WEFT_UNIQUE_ID", "weft1:127.0.0.1:4242:cafe");
  for (const std::string& shown :
       {options_text(), options_json().dump(), line_of(options_set(), "WEFT_UNIQUE_ID").value}) {
    EXPECT_THAT(shown, HasSubstr("not shown"));
    EXPECT_THAT(shown, ::testing::Not(HasSubstr("cafe")));
  }
}

}  // namespace
}  // namespace weft::info
