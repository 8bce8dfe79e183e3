// A library that reads numbers by iostreams.
#include <sstream>

extern "C" [[gnu::visibility("default")]] int weft_reads_numbers() {
  std::istringstream text("12 30.5");
  int whole = 0;
  double fraction = 0;
  text >> whole >> fraction;
  return whole == 12 && fraction == 30.5 ? 1 : 0;
}
