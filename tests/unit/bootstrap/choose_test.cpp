// Recorded surroundings of real launchers, and which bootstrap they lead to.
#include "bootstrap/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

Surroundings openmpi(int npes = 2) {
  Surroundings s;
  s.variables = {{"PMIX_NAMESPACE", "1249640449"},
                 {"PMIX_RANK", "1"},
                 {"OMPI_COMM_WORLD_SIZE", std::to_string(npes)}};
  return s;
}

Surroundings hydra() {
  Surroundings s;
  s.variables = {{"PMI_FD", "8"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  s.pmi_socket = true;
  return s;
}

Surroundings srun(const std::string& mpi) {
  Surroundings s;
  s.variables = {{"SLURM_JOB_ID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  if (mpi == "pmi2") {
    s.variables.insert(
        {{"PMI_FD", "11"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "1.0"}});
    s.pmi_socket = true;
  }
  if (mpi == "pmix") {
    s.variables.insert({{"PMIX_NAMESPACE", "slurm.pmix.2.0"}, {"PMIX_RANK", "0"}});
  }
  return s;
}

Options by_weft_run() {
  Options options;
  options.unique_id = "weft1:127.0.0.1:4711:00000000000000000000000000000000:2";
  options.pe = 1;
  options.npes = 2;
  return options;
}

Options forced(const char* kind) {
  Options options;
  options.bootstrap = kind;
  return options;
}

void expect_kind(const Options& options, const Surroundings& surroundings, BootstrapKind kind) {
  const auto choice = choose(options, surroundings);
  ASSERT_TRUE(choice) << choice.status().to_string();
  EXPECT_STREQ(to_string(choice->kind), to_string(kind));
  EXPECT_FALSE(choice->why.empty());
}

void expect_refusal(const Options& options, const Surroundings& surroundings,
                    const std::string& text) {
  const auto choice = choose(options, surroundings);
  ASSERT_FALSE(choice) << to_string(choice->kind);
  EXPECT_THAT(choice.status().to_string(), HasSubstr(text));
}

TEST(Choose, TakesWhatTheLauncherOffers) {
  expect_kind({}, {}, BootstrapKind::kSingle);
  expect_kind({}, openmpi(), BootstrapKind::kPmix);
  expect_kind({}, hydra(), BootstrapKind::kPmi1);
  expect_kind({}, srun("pmi2"), BootstrapKind::kPmi2);
  expect_kind({}, srun("pmix"), BootstrapKind::kPmix);
  Surroundings hydra_in_slurm = hydra();
  hydra_in_slurm.variables.merge(srun("none").variables);
  expect_kind({}, hydra_in_slurm, BootstrapKind::kPmi1);
}

TEST(Choose, WhatWeftRunSetComesFirst) {
  for (Surroundings s : {Surroundings{}, openmpi(), hydra(), srun("pmi2"), srun("none")}) {
    s.mpi_running = true;
    expect_kind(by_weft_run(), s, BootstrapKind::kTcp);
  }
}

TEST(Choose, AnInitialisedMpiHoldsTheSocket) {
  for (Surroundings s : {Surroundings{}, openmpi(), hydra(), srun("pmi2")}) {
    s.mpi_running = true;
    expect_kind({}, s, BootstrapKind::kMpi);
  }
}

TEST(Choose, AClosedSocketIsAnOuterLaunchersAndDoesNotCount) {
  Surroundings mpirun_inside_srun = srun("pmi2");
  mpirun_inside_srun.pmi_socket = false;
  mpirun_inside_srun.variables.merge(openmpi().variables);
  expect_kind({}, mpirun_inside_srun, BootstrapKind::kPmix);
  Surroundings hydra_inside_mpirun = hydra();
  hydra_inside_mpirun.variables.merge(openmpi().variables);
  expect_kind({}, hydra_inside_mpirun, BootstrapKind::kPmi1);
}

TEST(Choose, ALauncherWithoutAWayToMeetIsNoJobOfOne) {
  expect_refusal({}, srun("none"), "--mpi=pmi2 or --mpi=pmix");
  Surroundings closed = hydra();
  closed.pmi_socket = false;
  expect_refusal({}, closed, "PMI_FD");
  Surroundings scrubbed = openmpi(4);
  scrubbed.variables.erase("PMIX_RANK");
  expect_refusal({}, scrubbed, "started 4 processes (OMPI_COMM_WORLD_SIZE=4)");
  for (const Surroundings& s : {srun("none"), closed, scrubbed}) {
    expect_kind(forced("single"), s, BootstrapKind::kSingle);
  }
}

Surroundings torchrun(int npes) {
  Surroundings s;
  s.variables = {{"RANK", "1"}, {"WORLD_SIZE", std::to_string(npes)}};
  return s;
}

TEST(Choose, UnderTorchrunWhatToPassIsSaid) {
  expect_refusal({}, torchrun(4), "torchrun started 4 processes (WORLD_SIZE=4)");
  expect_refusal({}, torchrun(4), "Runtime::create(id, pe, npes)");
  expect_kind({}, torchrun(1), BootstrapKind::kSingle);
  expect_kind(forced("single"), torchrun(4), BootstrapKind::kSingle);
  // Another program's variables.
  for (const char* name : {"RANK", "WORLD_SIZE"}) {
    Surroundings half = torchrun(4);
    half.variables.erase(name);
    expect_kind({}, half, BootstrapKind::kSingle);
  }
  // A launcher that does carry an id comes first.
  Surroundings inside_mpirun = torchrun(4);
  inside_mpirun.variables.merge(openmpi(4).variables);
  expect_kind({}, inside_mpirun, BootstrapKind::kPmix);
}

TEST(Choose, ALauncherInsideWeftRunMakesNoTwoJobs) {
  const auto under_weft_run = [](Surroundings s) {
    s.variables[kWeftRunPes] = "2";
    s.variables[kOuterProcesses] = "1";
    return s;
  };
  expect_refusal(by_weft_run(), under_weft_run(openmpi(3)),
                 "two launchers have started this process");
  expect_refusal(by_weft_run(), under_weft_run(torchrun(4)),
                 "WEFT_NPES is 2, but torchrun started 4");
  expect_kind(by_weft_run(), under_weft_run(openmpi(1)), BootstrapKind::kTcp);
  expect_kind(by_weft_run(), under_weft_run(hydra()), BootstrapKind::kTcp);  // weft-run's own PMI
  Surroundings around = under_weft_run(openmpi(3));
  around.variables[kOuterProcesses] = "3";  // mpirun started weft-run
  expect_kind(by_weft_run(), around, BootstrapKind::kTcp);
  // A PE of weft-run starts a job by hand; a job by hand without weft-run.
  Surroundings started_by_pe = under_weft_run(hydra());
  started_by_pe.variables[kWeftRunPes] = "5";
  expect_kind(by_weft_run(), started_by_pe, BootstrapKind::kTcp);
  expect_kind(by_weft_run(), openmpi(3), BootstrapKind::kTcp);
}

TEST(Choose, AScriptOfSlurmIsAJobOfOne) {
  Surroundings script;
  script.variables = {{"SLURM_JOB_ID", "7"}};
  expect_kind({}, script, BootstrapKind::kSingle);
  Surroundings one_task = srun("none");
  one_task.variables["SLURM_STEP_NUM_TASKS"] = "1";
  expect_kind({}, one_task, BootstrapKind::kSingle);
}

TEST(Choose, HalfOfWhatTcpNeedsIsRefused) {
  Options options;
  options.npes = 4;
  expect_refusal(options, {}, "WEFT_NPES is 4 but WEFT_UNIQUE_ID is not set");
  options = by_weft_run();
  options.pe = -1;
  expect_refusal(options, {}, "WEFT_PE is -1");
  expect_refusal(forced("tcp"), {}, "WEFT_BOOTSTRAP is tcp but WEFT_UNIQUE_ID is not set");
}

TEST(Choose, WhatIsForcedIsTakenOrRefused) {
  expect_kind(forced("pmi1"), hydra(), BootstrapKind::kPmi1);
  expect_kind(forced("pmi2"), hydra(), BootstrapKind::kPmi2);
  expect_kind(forced("pmix"), openmpi(), BootstrapKind::kPmix);
  expect_kind(forced("mpi"), {}, BootstrapKind::kMpi);
  expect_refusal(forced("pmi1"), {}, "PMI_FD is not set");
  expect_refusal(forced("pmi2"), openmpi(), "WEFT_BOOTSTRAP is pmi2 but PMI_FD is not set");
  expect_refusal(forced("pmix"), hydra(), "PMIX_NAMESPACE and PMIX_RANK are not set");
  Surroundings closed = hydra();
  closed.pmi_socket = false;
  expect_refusal(forced("pmi1"), closed, "PMI_FD is 8, but that is no open socket");
}

TEST(Choose, CountsWhatTheLauncherStarted) {
  EXPECT_EQ(launched_processes({}), 1);
  EXPECT_EQ(launched_processes(openmpi(7)), 7);
  EXPECT_EQ(launched_processes(srun("none")), 2);
  EXPECT_EQ(launched_processes(torchrun(5)), 5);
  Surroundings odd;
  odd.variables = {{"PMI_SIZE", "many"}};
  EXPECT_EQ(launched_processes(odd), 1);
}

}  // namespace
}  // namespace weft
