// What the parts of the fake driver share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/unique_fd.hpp"
#include "src/platform/gpu/abi.hpp"

// The functions of the table, with C linkage and visible. A definition that differs does not
// compile.
namespace weft::gpu::abi {
extern "C" {
#define WEFT_ROW(member, symbol, ...) \
  __attribute__((visibility("default"))) Error symbol(__VA_ARGS__);
WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
}
}  // namespace weft::gpu::abi

namespace weft::fake_gpu {

using gpu::abi::Error;
using gpu::abi::Pointer;

struct Settings {
  int devices = 2;
  std::size_t bytes = std::size_t{1} << 30;
  std::set<std::pair<int, int>> no_peer;
  std::set<unsigned> no_attribute;
  struct Failure {
    std::string function;
    int call;
    Error error;
  };
  std::vector<Failure> failures;
};

// Memory of a GPU; lives while a handle or a mapping refers to it.
struct Physical {
  int device;
  std::size_t bytes;
  UniqueFd file;
  bool is_created_here;  // else imported
  ~Physical();
};

struct Mapping {
  std::size_t bytes;
  std::shared_ptr<Physical> physical;
  std::set<int> access;  // which GPUs
};

inline constexpr std::size_t kPage = std::size_t{2} << 20;

// What a stream is: a thread that does one thing after the other.
class Queue {
 public:
  Queue();
  ~Queue();  // once all is done
  void add(std::function<void()> work);
  void synchronize();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

struct State {
  std::mutex mutex;  // of everything
  Settings settings;
  std::map<std::string, int, std::less<>> calls;
  int process = 0;  // that called cuInit()
  std::map<Pointer, std::size_t> reservations;
  std::map<Pointer, Mapping> mappings;
  std::map<gpu::abi::Handle, std::shared_ptr<Physical>> handles;
  gpu::abi::Handle last_handle = 0;
  std::map<void*, std::size_t> host_blocks;
  std::map<Stream, std::unique_ptr<Queue>> streams;
  std::map<int, std::size_t> used;  // bytes by GPU
  std::map<int, int> retained;      // primary contexts
};
State& state();
Settings read_settings();

// Begins a call: holds the state, and knows whether the call shall fail. Every function starts so:
//   Call call("cuMemMap");
//   if (call.refused()) return call.error();
class Call {
 public:
  enum class Needs { kNothing, kInit, kContext };
  explicit Call(const char* function, Needs needs = Needs::kInit);
  bool refused() const { return error_ != Error::kSuccess; }
  Error error() const { return error_; }
  State* operator->() const { return &state(); }

 private:
  std::lock_guard<std::mutex> lock_;
  Error error_;
};

bool is_device(int device);  // under a Call
bool reaches(int device, int peer);
gpu::abi::Context context_of(int device);
// The thread's contexts, by GPU; the last one is current.
std::vector<int>& contexts();
// kSuccess if the current GPU may touch all of it: host memory, or mapped and allowed.
Error check_reach(Pointer base, std::size_t bytes);

}  // namespace weft::fake_gpu
