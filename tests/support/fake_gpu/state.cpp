#include "tests/support/fake_gpu/state.hpp"

#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

namespace weft::fake_gpu {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string variable(const char* name, const char* fallback) {
  const char* const value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

// A call that could wait for a stream, or take or give back memory that one uses.
bool is_unsafe_in_captures(std::string_view function) {
  static const std::set<std::string_view> all = {
      "cuStreamSynchronize", "cuStreamQuery",         "cuMemAlloc_v2",       "cuMemFree_v2",
      "cuMemHostAlloc",      "cuMemFreeHost",         "cuModuleLoadData",    "cuStreamDestroy_v2",
      "cuIpcGetMemHandle",   "cuIpcOpenMemHandle_v2", "cuIpcCloseMemHandle",
  };
  return all.contains(function);
}

Error refusal(const char* function, Call::Needs needs) {
  State& all = state();
  const int call = ++all.calls[function];
  for (const auto& failure : all.settings.failures) {
    if (failure.function != function || failure.call != call) continue;
    if (gpu::abi::ends_all(failure.error)) all.failed = failure.error;
    return failure.error;
  }
  if (needs == Call::Needs::kNothing) return Error::kSuccess;
  if (all.process != ::getpid()) return Error::kNotInitialized;
  if (all.failed != Error::kSuccess) return all.failed;
  if (needs == Call::Needs::kCurrent && current() < 0) return Error::kInvalidContext;
  if (needs == Call::Needs::kCurrent && all.reset.contains(current()))
    return Error::kContextIsDestroyed;
  const bool is_forbidden = is_unsafe_in_captures(function) && spoil_captures();
  return is_forbidden ? Error::kCaptureUnsupported : Error::kSuccess;
}

}  // namespace

gpu::abi::CaptureMode& capture_mode() {
  thread_local auto mode = gpu::abi::CaptureMode::kGlobal;
  return mode;
}

// As the driver's documentation has it: those of my own unless they are relaxed, and in global mode
// those of others that are global, too.
bool spoil_captures() {
  using gpu::abi::CaptureMode;
  bool any = false;
  if (capture_mode() == CaptureMode::kRelaxed) return any;
  for (auto& [stream, capture] : state().captures) {
    const bool is_mine = capture.by == std::this_thread::get_id();
    const bool forbids =
        is_mine ? capture.mode != CaptureMode::kRelaxed
                : capture.mode == CaptureMode::kGlobal && capture_mode() == CaptureMode::kGlobal;
    if (forbids) any = capture.is_spoiled = true;
  }
  return any;
}

Settings read_settings() {
  Settings out;
  out.devices = std::stoi(variable("FAKE_GPU_DEVICES", "2"));
  out.bytes = std::stoull(variable("FAKE_GPU_BYTES", "1073741824"));
  for (const std::string& pair : split(variable("FAKE_GPU_NO_PEER", ""), ',')) {
    const auto ends = split(pair, '-');
    const int a = std::stoi(ends.at(0)), b = std::stoi(ends.at(1));
    out.no_peer.insert({a, b});
    out.no_peer.insert({b, a});
  }
  for (const std::string& way : split(variable("FAKE_GPU_WAYS", "fd"), ',')) out.ways.insert(way);
  out.dmabuf = std::string(variable("FAKE_GPU_DMABUF", "1")) == "1";
  out.managed = std::string(variable("FAKE_GPU_MANAGED", "0")) == "1";
  out.version = std::stoi(variable("FAKE_GPU_VERSION", "70200000"));
  for (const std::string& one : split(variable("FAKE_GPU_FAIL", ""), ',')) {
    const auto parts = split(one, ':');
    out.failures.push_back(
        {parts.at(0), std::stoi(parts.at(1)), static_cast<Error>(std::stoul(parts.at(2)))});
  }
  return out;
}

State& state() {
  static auto* const one = [] {
    auto* const made = new State;  // outlives whoever calls the driver at exit
    made->settings = read_settings();
    return made;
  }();
  return *one;
}

Call::Call(const char* function, Needs needs)
    : lock_(state().mutex), error_(refusal(function, needs)) {}

bool is_device(int device) { return device >= 0 && device < state().settings.devices; }

bool reaches(int device, int peer) {
  return device == peer || !state().settings.no_peer.contains({device, peer});
}

Error check_reach(Pointer base, std::size_t bytes) {
  const Pointer end = base + bytes;
  for (const auto& [start, allocation] : state().allocations) {
    if (start + allocation.bytes <= base || end <= start) continue;
    const int by = allocation.is_created_here ? allocation.device : allocation.opener;
    const bool may = by == current() || state().enabled.contains({current(), by});
    return may && start <= base && end <= start + allocation.bytes ? Error::kSuccess
                                                                   : Error::kInvalidValue;
  }
  for (const auto& [start, size] : state().reservations) {
    if (start + size <= base || end <= start) continue;
    while (base < end) {  // no gap between mappings
      auto found = state().mappings.upper_bound(base);
      if (found == state().mappings.begin()) return Error::kInvalidValue;
      const auto& [at, mapping] = *--found;
      if (base >= at + mapping.bytes || !mapping.access.contains(current())) {
        return Error::kInvalidValue;
      }
      base = at + mapping.bytes;
    }
  }
  return Error::kSuccess;
}

}  // namespace weft::fake_gpu
