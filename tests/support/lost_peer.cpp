// PE 1 is lost in the middle of a job, and PE 0 hears of it within seconds: what it does returns a
// status that says what was lost, whom to, and by which way.
//   lost_peer killed | DEVICE
// Killed, or its network device is set down: then it hears that it has lost PE 0, as well.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <weft/weft.hpp>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void be_lost(const std::string& how) {
  if (how == "killed") raise(SIGKILL);
  if (std::system(("ip link set " + how + " down").c_str()) != 0) std::puts("the link stays up");
}

weft::Status put_until_lost(weft::Runtime& rt, std::uint64_t* word, int to) {
  const auto start = Clock::now();
  weft::Status status;
  for (std::uint64_t round = 1; status.is_ok() && seconds_since(start) < 60; ++round) {
    status = rt.context().p(word, round, to);
    if (status.is_ok()) status = rt.context().quiet();
  }
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  signal(SIGTERM, SIG_IGN);  // which a launcher sends to whom is left
  auto rt = weft::Runtime::create();
  if (!rt.is_ok()) return 1;
  auto word = rt->callocate<std::uint64_t>(1);
  if (!word.is_ok() || !rt->barrier().is_ok()) return 1;
  if (rt->pe() == 1) {
    if (!wait_until(rt->context(), *word, weft::Cmp::kNe, std::uint64_t{0}).is_ok()) return 1;
    be_lost(arguments[1]);
  }
  const auto start = Clock::now();
  const int other = 1 - rt->pe();
  const std::string text(put_until_lost(*rt, *word, other).text());
  const bool told =
      text.find("PE " + std::to_string(other)) != std::string::npos && seconds_since(start) < 45;
  std::printf("PE %d %s after %.1f s: %s\n", rt->pe(), told ? "heard" : "did not hear",
              seconds_since(start), text.c_str());
  std::fflush(stdout);
  _exit(told ? 0 : 1);  // there is nobody to end the job with
}
