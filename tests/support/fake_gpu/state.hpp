// Declarations that the parts of the fake driver share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
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

// One source for both vendors' libraries: what differs but in name is in cuda.cpp and hip.cpp.
#ifdef FAKE_GPU_HIP
#define FAKE_NAME(cuda, hip) hip
#else
#define FAKE_NAME(cuda, hip) cuda
#endif

// The functions of the table, with C linkage and visible. A definition that differs does not
// compile.
namespace weft::gpu::abi {
extern "C" {
#define WEFT_ROW(member, cuda, hip, ...) \
  __attribute__((visibility("default"))) Error FAKE_NAME(cuda, hip)(__VA_ARGS__);
WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
}
}  // namespace weft::gpu::abi

namespace weft::fake_gpu {

using gpu::abi::Error;
using gpu::abi::Pointer;
using gpu::abi::Token;

struct Settings {
  int devices = 2;
  std::size_t bytes = std::size_t{1} << 30;
  std::set<std::pair<int, int>> no_peer;
  std::set<std::string> ways;  // in which created memory may be shared
  int version = 0;             // HIP's
  bool managed = false;
  bool dmabuf = true;
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
  gpu::abi::AllocationProperties properties{};
  gpu::abi::Handle handle = 0;  // as long as there is one, the same for whoever asks
  ~Physical();
};

struct Mapping {
  std::size_t bytes;
  std::shared_ptr<Physical> physical;
  std::set<int> access;  // which GPUs
};

// Memory that was not created but allocated; lives until it is freed, or closed.
struct Allocation {
  std::size_t bytes = 0;
  int device = 0;
  UniqueFd file;
  bool is_created_here = false;  // else opened,
  int opener = -1;               // by that GPU
  std::uint64_t id = 0;
};

inline constexpr std::size_t kPage = std::size_t{2} << 20;

// A stream: a thread that does one thing after the other.
class Queue {
 public:
  Queue();
  ~Queue();  // once all is done
  void add(std::function<void()> work);
  void synchronize();
  bool is_idle();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

// The work that a stream keeps for later instead of doing it.
struct Capture {
  gpu::abi::CaptureMode mode = gpu::abi::CaptureMode::kGlobal;
  std::thread::id by;
  std::size_t works = 0;
  bool is_spoiled = false;
};

struct State {
  std::mutex mutex;  // of everything
  Settings settings;
  std::map<std::string, int, std::less<>> calls;
  int process = 0;  // that called cuInit()
  std::map<Pointer, std::size_t> reservations;
  std::map<Pointer, Mapping> mappings;
  std::map<gpu::abi::Handle, std::shared_ptr<Physical>> handles;
  std::map<gpu::abi::Handle, int> holders;  // of handles
  gpu::abi::Handle last_handle = 0;
  std::map<Pointer, Allocation> allocations;
  std::uint64_t last_id = 0;
  std::map<std::size_t, Pointer> last_freed;  // by size: where the next one goes
  std::set<std::pair<int, int>> enabled;      // GPUs, and peers whose allocations they may touch
  std::map<void*, std::size_t> host_blocks;
  std::set<void*> registered;  // of these, the program's own pages
  std::set<Stream> dead;       // went with their context: a driver looks into them all the same
  std::map<Stream, std::unique_ptr<Queue>> streams;
  std::map<Stream, Capture> captures;
  std::map<int, std::size_t> used;  // bytes by GPU
  std::map<int, int> retained;      // primary contexts
  std::set<int> reset;              // of these, since they were retained last
  Error failed = Error::kSuccess;   // of a kernel: all calls fail of it from then on
};
State& state();
Settings read_settings();

// Begins a call: holds the state, and knows whether the call shall fail. Every function starts so:
//   Call call("cuMemMap");  // by CUDA's name, whichever library it is
//   if (call.refused()) return call.error();
class Call {
 public:
  enum class Needs { kNothing, kInit, kCurrent };
  explicit Call(const char* function, Needs needs = Needs::kInit);
  bool refused() const { return error_ != Error::kSuccess; }
  Error error() const { return error_; }
  State* operator->() const { return &state(); }

 private:
  std::lock_guard<std::mutex> lock_;
  Error error_;
};

bool is_device(int device);  // under a Call
// Spoils the captures that forbid the calling thread what could wait or take memory. True if there
// is one.
bool spoil_captures();
gpu::abi::CaptureMode& capture_mode();  // the thread's
bool reaches(int device, int peer);
// A new file for memory of that GPU, which holds whatever was there before.
UniqueFd dirty_file(int device, std::size_t bytes);
// `id`: no two allocations of a process give the same token.
Token token_of(int device, int file, std::size_t bytes, std::uint64_t id);
UniqueFd open_token(const Token& token, int* device, std::size_t* bytes);
void drop_allocations();  // of this process
void free_host(void* memory);
Error reach(int peer);  // lets the current GPU
// The mapping, or the allocation, that holds an address, and where it begins; null: none.
const std::pair<const Pointer, Mapping>* mapping_at(Pointer address);
const std::pair<const Pointer, Allocation>* allocation_at(Pointer address);
// kSuccess if the current GPU may touch all of it: host memory, or mapped and allowed.
Error check_reach(Pointer base, std::size_t bytes);

// Whole calls, but for their names.
// `offset` null: of the range alone; else of all that was created or allocated with it.
Error export_dmabuf(const char* function, Pointer base, std::size_t bytes, int* file,
                    std::uint64_t* offset);
Error allocate(Pointer* memory, std::size_t bytes);
Error copy(Pointer dst, Pointer src, std::size_t bytes, Stream stream);
// Queues `work`, which touches those ranges, on the stream; for a call of that name.
Error queue(const char* function, Stream stream, std::function<void()> work,
            std::initializer_list<std::pair<Pointer, std::size_t>> ranges);

// In cuda.cpp and hip.cpp.
int current();  // the thread's GPU; -1: none
unsigned memory_type(bool on_gpu);
std::size_t depth();
bool knows(gpu::abi::AllocationType type);
int descriptor(void* shared);

}  // namespace weft::fake_gpu
