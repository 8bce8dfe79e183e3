// Runs the census: see census.hpp. One PE of a job; exit status 1 if there is a finding.
//   census [rma|atomics|signals|collectives|waits|plain ...]     all, if none is named
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/compat/census/census.hpp"

namespace {

struct Part {
  const char* name;
  void (*check)();
};
constexpr Part kParts[] = {
    {"plain", census::check_plain},     {"rma", census::check_rma},
    {"atomics", census::check_atomics}, {"signals", census::check_signals},
    {"waits", census::check_waits},     {"collectives", census::check_collectives},
};

bool named(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return true;
  return argc == 1;
}

std::uint64_t seed() {
  const char* given = std::getenv("WEFT_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

}  // namespace

int main(int argc, char** argv) {
  census::start(seed());
  for (const Part& part : kParts)
    if (named(part.name, argc, argv)) part.check();
  return census::finish();
}
