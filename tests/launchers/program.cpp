// The program that the launcher tests start, the same under every launcher. The first argument says
// what to do.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <weft/weft.hpp>

namespace {

using Arguments = std::vector<std::string>;

int complain(const weft::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

// Every PE writes its number and the round into its place on every PE.
weft::Status exchange(weft::Runtime& runtime, int round) {
  const auto npes = static_cast<std::size_t>(runtime.npes());
  auto inbox = runtime.callocate<std::int64_t>(npes);
  if (!inbox) return inbox.status();
  const std::int64_t mine = 1000 * round + runtime.pe();
  for (int pe = 0; pe < runtime.npes(); ++pe) {
    const weft::Status put = runtime.context().put(*inbox + runtime.pe(), &mine, 1, pe);
    if (!put) return put;
  }
  if (const weft::Status met = runtime.barrier(); !met) return met;
  for (int pe = 0; pe < runtime.npes(); ++pe) {
    if ((*inbox)[pe] == 1000 * round + pe) continue;
    return weft::Status::error(weft::Code::kInternal,
                               "the word of PE " + std::to_string(pe) + " is wrong");
  }
  return weft::Status::ok();
}

// meet: two jobs, one after the other
int meet(const Arguments&) {
  for (int round = 1; round <= 2; ++round) {
    auto runtime = weft::Runtime::create();
    if (!runtime) return complain(runtime.status());
    if (const weft::Status status = exchange(*runtime, round); !status) return complain(status);
    const std::string about = runtime->describe();
    const auto at = about.find("bootstrap ");
    std::printf("round %d: PE %d of %d, %s\n", round, runtime->pe(), runtime->npes(),
                about.substr(at, about.find(',', at) - at).c_str());
    std::fflush(stdout);
  }
  return 0;
}

// When something happened, for whoever compares the PEs of a job.
void say_when(const char* what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::printf("%s at %.6f\n", what, now.count());
  std::fflush(stdout);
}

// kill PE: it vanishes while the others wait for it
int kill_one(const Arguments& arguments) {
  auto runtime = weft::Runtime::create();
  if (!runtime) return complain(runtime.status());
  if (runtime->pe() == std::stoi(arguments.at(0))) {
    say_when("killed");
    ::raise(SIGKILL);
  }
  for (;;) {
    if (const weft::Status status = runtime->barrier(); !status) return complain(status);
  }
}

// grow COUNT: the heap grows so often, by a chunk of WEFT_HEAP_CHUNK
int grow(const Arguments& arguments) {
  auto runtime = weft::Runtime::create();
  if (!runtime) return complain(runtime.status());
  say_when("started");
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) {
    if (const auto more = runtime->allocate_bytes(65536); !more) return complain(more.status());
  }
  say_when("grown");
  return 0;
}

// abort PE CODE: it ends the job while the others wait for it
int abort_job(const Arguments& arguments) {
  auto runtime = weft::Runtime::create();
  if (!runtime) return complain(runtime.status());
  if (runtime->pe() == std::stoi(arguments.at(0))) {
    runtime->abort(std::stoi(arguments.at(1)), "the test wants it");
  }
  for (;;) {
    if (const weft::Status status = runtime->barrier(); !status) return complain(status);
  }
}

// refuse: says why there is no runtime
int refuse(const Arguments&) {
  const auto runtime = weft::Runtime::create();
  return runtime ? 9 : complain(runtime.status());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const Arguments&)>> acts = {
      {"meet", meet}, {"kill", kill_one}, {"abort", abort_job}, {"grow", grow}, {"refuse", refuse}};
  if (argc < 2 || acts.count(argv[1]) == 0) return 99;
  return acts.at(argv[1])(Arguments(argv + 2, argv + argc));
}
