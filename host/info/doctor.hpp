// weft-info --doctor: whether this host has what a job needs; of what is wrong, what mends it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

#include "host/info/report.hpp"

namespace weft::info {

// Where and by what a host is judged.
struct Patient {
  std::string root;                 // stands before /proc, /sys and /dev, for tests
  std::uint64_t locked_memory = 0;  // limits of this process; the largest number: none
  std::uint64_t open_files = 0;
};
Patient this_host();

Section host_checks(const Patient& patient);
// The capabilities that this host should have by what it is made of, each tried.
Section tried_checks(const Options& options);
// Every PE writes to every other and looks at what came. Collective.
Section test_run(Runtime& runtime);

// The findings of one PE on its host.
struct Diagnosis {
  std::string host;
  int pe = -1;        // -1: there is no job
  std::string wrong;  // the lines of what is not there; empty: all is well
  std::string text;
  nlohmann::json data;
};
Diagnosis diagnosis_of(int pe, std::span<const Section> sections);
// On PE 0 its own, one of each other host, and all that found something else wrong there; elsewhere
// its own. Collective.
Result<std::vector<Diagnosis>> gather(Runtime& runtime, const Diagnosis& mine);

}  // namespace weft::info
