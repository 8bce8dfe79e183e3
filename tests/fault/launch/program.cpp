// The program that the launch tests start under weft-run. The first argument says what to do, the
// rest how.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <weft/runtime.hpp>

#include "bootstrap/bootstrap.hpp"

namespace {

using weft::Bootstrap;
using weft::Options;
using Arguments = std::vector<std::string>;

int number(const char* name) { return std::atoi(::getenv(name)); }
int my_pe() { return number("WEFT_PE"); }
int npes() { return number("WEFT_NPES"); }

void line(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

int complain(const weft::Status& status) {
  std::fprintf(stderr, "PE %d: %s\n", my_pe(), status.to_string().c_str());
  return 1;
}

weft::Result<std::unique_ptr<Bootstrap>> join() {
  return weft::make_bootstrap(*Options::from_environment());
}

void die(const std::string& how) {
  std::fprintf(stderr, "PE %d goes: %s\n", my_pe(), how.c_str());
  if (how == "segv") ::signal(SIGSEGV, SIG_DFL), ::raise(SIGSEGV);
  if (how == "kill") ::raise(SIGKILL);
  if (how == "exit3") ::_exit(3);
  ::_exit(0);
}

// meet: the good case
int meet(const Arguments&) {
  auto job = join();
  if (!job) return complain(job.status());
  auto all = (*job)->allgather({});
  if (!all) return complain(all.status());
  line("PE " + std::to_string((*job)->pe()) + " met " + std::to_string(all->size()));
  const weft::Status left = (*job)->leave();
  return left ? 0 : complain(left);
}

// die PE MOMENT HOW: PE ends at MOMENT (first, joined, left); the others go on calling
int die_at(const Arguments& arguments) {
  const bool victim = my_pe() == std::stoi(arguments.at(0));
  const std::string& moment = arguments.at(1);
  const std::string& how = arguments.at(2);
  if (victim && moment == "first") die(how);
  auto job = join();
  if (!job) return complain(job.status());
  if (victim && moment == "joined") die(how);
  if (moment == "left") {
    const weft::Status left = (*job)->leave();
    if (victim) die(how);
    return left ? 0 : complain(left);
  }
  for (;;) {
    if (const weft::Status status = (*job)->barrier(); !status) return complain(status);
  }
}

// abort PE CODE: PE aborts the job, then everybody waits for the launcher
int abort_job(const Arguments& arguments) {
  auto job = join();
  if (!job) return complain(job.status());
  if (my_pe() == std::stoi(arguments.at(0))) {
    (*job)->abort(std::stoi(arguments.at(1)), "the test wants it");
  }
  wait_for_ever();
}

// runtime: whole runtimes, made, used and destroyed again and again until something ends it
int runtimes(const Arguments&) {
  line("pid " + std::to_string(my_pe()) + " " + std::to_string(::getpid()));
  for (;;) {
    auto runtime = weft::Runtime::create();
    if (!runtime) return complain(runtime.status());
    auto memory = runtime->allocate_bytes(100'000);
    if (!memory) return complain(memory.status());
    std::memset(*memory, my_pe(), 100'000);
    for (int i = 0; i < 10; ++i) {
      if (const weft::Status status = runtime->barrier(); !status) return complain(status);
    }
  }
}

// lines COUNT: lines of all lengths, written in pieces
int lines(const Arguments& arguments) {
  std::mt19937 random(static_cast<unsigned>(my_pe()));
  std::string all;
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) {
    all += "<" + std::to_string(my_pe()) + ":" + std::to_string(i) + ":" +
           std::string(random() % 300, static_cast<char>('a' + my_pe() % 26)) + ">\n";
  }
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t piece = std::min<std::size_t>(1 + random() % 700, all.size() - at);
    if (::write(1, all.data() + at, piece) != static_cast<ssize_t>(piece)) return 1;
    at += piece;
  }
  return 0;
}

// message: each PE writes what the library would of one wait, then exit 5
int message(const Arguments&) {
  const int pe = my_pe();
  std::fprintf(stderr, "weft[%d] warn wait: barrier on PE %d, after 1.%d s\n", pe, pe, pe);
  return 5;
}

// words COUNT: COUNT lines on standard error, the last without its newline, then exit 5
int words(const Arguments& arguments) {
  const int count = std::stoi(arguments.at(0));
  for (int i = 1; i <= count; ++i) std::fprintf(stderr, "word %d%s", i, i < count ? "\n" : "");
  return 5;
}

// stubborn: PE 0 fails, the others take no notice of SIGTERM
int stubborn(const Arguments&) {
  if (my_pe() != 0) {
    ::signal(SIGTERM, SIG_IGN);
    line("deaf " + std::to_string(my_pe()));
    wait_for_ever();
  }
  // Only once the others have had time to become deaf: they say so to the test, which tells us.
  (void)std::getchar();
  return 4;
}

// family: each PE leaves a child that would live for ever; then PE 1 fails
int family(const Arguments&) {
  if (::fork() == 0) {
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    wait_for_ever();
  }
  if (my_pe() == 1) return 6;
  wait_for_ever();
}

std::atomic<unsigned> caught{0};  // one bit per signal: one must not hide another

// signals: says which signals come, until one that ends
int signals(const Arguments&) {
  const std::vector<int> all = {SIGUSR1, SIGUSR2, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCONT};
  for (const int signal : all) {
    ::signal(signal, [](int got) { caught.fetch_or(1u << got); });
  }
  line("ready");
  for (;;) {
    const unsigned got = caught.exchange(0);
    for (const int signal : all) {
      if ((got & 1u << signal) != 0) line("got " + std::to_string(signal) + ".");
    }
    if ((got & (1u << SIGTERM | 1u << SIGINT | 1u << SIGHUP | 1u << SIGQUIT)) != 0) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// environment NAMES...: their values
int environment(const Arguments& arguments) {
  for (const std::string& name : arguments) {
    const char* value = ::getenv(name.c_str());
    line(name + "=" + (value != nullptr ? value : "(unset)"));
  }
  return 0;
}

// arguments ...: as they came
int arguments(const Arguments& arguments) {
  for (const std::string& argument : arguments) line("(" + argument + ")");
  return 0;
}

// input: how much standard input there is
int input(const Arguments&) {
  std::size_t bytes = 0;
  while (std::getchar() != EOF) ++bytes;
  line("PE " + std::to_string(my_pe()) + " read " + std::to_string(bytes));
  return 0;
}

// forever: lines until nobody reads them
int forever(const Arguments&) {
  for (;;) std::printf("still here\n");
}

// Writes a line into the PMI socket and reads the answer, up to its end.
std::string ask_pmi(const std::string& line) {
  const int fd = number("PMI_FD");
  if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "";
  std::string answer;
  for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) answer += c;
  return answer;
}

// pmi HOW: PMI-1 by hand. Everybody puts a word and gets its neighbour's, and then ends as HOW says
int pmi(const Arguments& arguments) {
  const std::string& how = arguments.at(0);
  const int me = number("PMI_RANK"), all = number("PMI_SIZE");
  if (how == "nonsense" && me == 1) return ask_pmi("how do you do\n").empty() ? 0 : 1;
  if (how == "nonsense") return 0;
  if (ask_pmi("cmd=init pmi_version=1 pmi_subversion=1\n").find("rc=0") == std::string::npos)
    return 2;
  const std::string store = " kvsname=weft-run key=word-";
  const std::string word = std::to_string(me) + " value=from-" + std::to_string(me) + "\n";
  if (ask_pmi("cmd=put" + store + word).find("rc=0") == std::string::npos) return 3;
  if (how == "kill" && me == 1) ::raise(SIGKILL);
  if (how == "abort" && me == 1) ask_pmi("cmd=abort exitcode=37\n");
  if (ask_pmi("cmd=barrier_in\n").find("cmd=barrier_out") != 0) return 4;
  const std::string next = std::to_string((me + 1) % all);
  const std::string got = ask_pmi("cmd=get" + store + next + "\n");
  line("PE " + std::to_string(me) + " got " + got.substr(got.find("value=") + 6));
  if (how == "vanish" && me == 1) return 0;
  return ask_pmi("cmd=finalize\n").find("cmd=finalize_ack") == 0 ? 0 : 5;
}

int sleeper(const Arguments&) {
  line("pid " + std::to_string(my_pe()) + " " + std::to_string(::getpid()));
  wait_for_ever();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const Arguments&)>> acts = {
      {"meet", meet},
      {"die", die_at},
      {"abort", abort_job},
      {"runtime", runtimes},
      {"lines", lines},
      {"message", message},
      {"words", words},
      {"stubborn", stubborn},
      {"family", family},
      {"signals", signals},
      {"environment", environment},
      {"arguments", arguments},
      {"input", input},
      {"forever", forever},
      {"sleep", sleeper},
      {"pmi", pmi}};
  if (argc < 2 || acts.count(argv[1]) == 0 || npes() < 1) return 99;
  return acts.at(argv[1])(Arguments(argv + 2, argv + argc));
}
