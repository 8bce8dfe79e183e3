#include <atomic>
#include <cstdlib>
#include <map>

#include "tests/support/faulty_fabric/faulty_fabric.hpp"
#include "tests/support/faulty_fabric/hooks.hpp"

namespace faulty_fabric {

namespace {

struct Failing {
  int left = 0, error = 0;
};

std::mutex mutex;
std::map<std::string, Failing>& failing() {
  static auto* const all = new std::map<std::string, Failing>;
  return *all;
}
Settings current;
std::atomic<bool> cut{false};
std::atomic<int> live{0}, unregistered{0};
std::atomic<unsigned> calls{0};

}  // namespace

Settings settings() {
  const std::lock_guard lock(mutex);
  return current;
}

void read_settings() {
  const char* const text = std::getenv("FAULTY_FABRIC");
  const std::string all = text == nullptr ? "" : text;
  const auto has = [&](const char* name) { return all.find(name) != std::string::npos; };
  const std::lock_guard lock(mutex);
  current = {has("unordered"), has("strict"), has("offload"), has("nofile"), has("busy")};
}

int failure_of(const char* call) {
  const std::lock_guard lock(mutex);
  const auto found = failing().find(call);
  if (found == failing().end() || found->second.left == 0) return 0;
  return --found->second.left == 0 ? -found->second.error : 0;
}

bool is_cut() { return cut.load(); }
bool is_busy() { return settings().busy && calls.fetch_add(1) % 2 == 0; }
void count_unregistered() { unregistered.fetch_add(1); }
void count_opened(int by) { live.fetch_add(by); }

}  // namespace faulty_fabric

using namespace faulty_fabric;

void faulty_fabric_fail(const char* call, int nth, int error) {
  const std::lock_guard lock(faulty_fabric::mutex);
  failing()[call] = {nth, error};
}
void faulty_fabric_cut(bool is) { cut.store(is); }
int faulty_fabric_live() { return live.load(); }
int faulty_fabric_unregistered() { return unregistered.load(); }
