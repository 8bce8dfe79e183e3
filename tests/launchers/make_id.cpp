// Prints a unique id for as many PEs as its argument says, and serves it until its input ends.
#include <cstdio>
#include <cstdlib>

#include <weft/runtime.hpp>

int main(int argc, char** argv) {
  const auto id = weft::UniqueId::create(argc > 1 ? std::atoi(argv[1]) : 0);
  if (!id) return 1;
  std::puts(id->text().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
