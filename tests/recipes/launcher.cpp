// A job of two PEs, whose launcher Weft knows by the variables that the recipe names.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <weft/weft.hpp>

namespace {

// Each PE puts its number into its neighbour's word, behind which a barrier stands.
weft::Status pe() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  if (rt->npes() != 2)
    return weft::Status::error(weft::Code::kInternal,
                               "a job of " + std::to_string(rt->npes()) + " PEs, not of 2");
  auto word = rt->callocate<std::int32_t>(1);
  if (!word) return word.status();
  const std::int32_t mine = 10 + rt->pe();
  const int other = 1 - rt->pe();
  weft::Status status = rt->context().put(*word, &mine, 1, other);
  if (status) status = rt->context().quiet();
  if (status) status = rt->barrier();
  if (status && **word != 10 + other)
    status = weft::Status::error(weft::Code::kInternal, "the word is " + std::to_string(**word));
  if (status) std::printf("PE %d of 2: %s\n", rt->pe(), rt->describe().c_str());
  return status;
}

int run(int rank, const std::string& file) {
  setenv("SAMPLE_RANK", std::to_string(rank).c_str(), 1);
  setenv("SAMPLE_SIZE", "2", 1);
  setenv("SAMPLE_FILE", file.c_str(), 1);
  const weft::Status status = pe();
  if (!status) std::fprintf(stderr, "PE %d: %s\n", rank, status.to_string().c_str());
  return status ? 0 : 1;
}

}  // namespace

int main() {
  const std::string file = "/tmp/weft-recipe-launcher-" + std::to_string(getpid());
  pid_t started[2];
  for (int rank = 0; rank < 2; ++rank) {
    started[rank] = fork();
    if (started[rank] == 0) return run(rank, file);
  }
  int failed = 0;
  for (const pid_t child : started) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) failed = 1;
  }
  unlink(file.c_str());
  return failed;
}
