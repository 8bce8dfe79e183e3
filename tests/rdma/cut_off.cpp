// The node of PE 1 loses its network in the middle of a job. PE 0 hears of it within seconds: what
// it does returns a status that says what was lost, whom to, and by which port.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <weft/weft.hpp>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void lose_the_network() {
  if (std::system("ip link set eth0 down") != 0) std::puts("the link stays up");
  std::this_thread::sleep_for(std::chrono::minutes(5));
  _exit(0);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

weft::Status put_until_lost(weft::Runtime& rt, std::uint64_t* word) {
  const auto start = Clock::now();
  weft::Status status;
  for (std::uint64_t round = 1; status.is_ok() && seconds_since(start) < 60; ++round) {
    status = rt.context().p(word, round, 1);
    if (status.is_ok()) status = rt.context().quiet();
  }
  return status;
}

}  // namespace

int main() {
  auto rt = weft::Runtime::create();
  if (!rt.is_ok()) return 1;
  auto word = rt->callocate<std::uint64_t>(1);
  if (!word.is_ok() || !rt->barrier().is_ok()) return 1;
  if (rt->pe() == 1) lose_the_network();
  const auto start = Clock::now();
  const std::string text(put_until_lost(*rt, *word).text());
  const bool told = text.find("PE 1") != std::string::npos && seconds_since(start) < 45;
  std::printf("%s after %.1f s: %s\n", told ? "heard" : "not heard", seconds_since(start),
              text.c_str());
  std::fflush(stdout);
  _exit(told ? 0 : 1);  // there is nobody to end the job with
}
