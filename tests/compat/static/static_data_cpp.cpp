// C++'s kinds of static variables.
#include <shmem.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

bool wrong = false;
int me = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "PE %d: not so: %s\n", me, what);
  wrong = true;
}

struct Holder {
  static long member;
  static inline long inline_member = 4;
};
long Holder::member = 3;

template <class T>
T of_template = T{5};

namespace nested {
long variable = 6;
}

long& in_function() {
  static long value = 7;
  return value;
}

constexpr long kConstant = 8;
const std::vector<int> made_at_start = {1, 2, 3};
std::string text = "a text that is too long for the object itself";

void exchange(long* variable, long value, const char* what) {
  const int npes = shmem_n_pes();
  expect(*variable == value, what);
  shmem_barrier_all();
  shmem_p(variable, 100 * value + me, (me + 1) % npes);
  shmem_barrier_all();
  expect(*variable == 100 * value + (me + npes - 1) % npes, what);
}

}  // namespace

int main() {
  shmem_init();
  me = shmem_my_pe();
  exchange(&Holder::member, 3, "a static member");
  exchange(&Holder::inline_member, 4, "an inline static member");
  exchange(&of_template<long>, 5, "a variable template");
  exchange(&nested::variable, 6, "a variable of a namespace");
  exchange(&in_function(), 7, "a function's static variable");
  expect(!shmem_addr_accessible(&kConstant, 0), "a constant is not symmetric");
  // Memory that the objects own stays where it was.
  expect(made_at_start.size() == 3 && made_at_start[2] == 3, "a vector made at start");
  text += ", and grows";
  expect(text.size() == 45 + 11, "a string that grows");
  shmem_finalize();
  return wrong ? 1 : 0;
}
