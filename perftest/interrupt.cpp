#include "perftest/interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace weft::perf {
namespace {

volatile std::sig_atomic_t stop = 0;

void on_signal(int) { stop = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one is not caught
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return stop != 0; }

}  // namespace weft::perf
