// The fault record: both ends. The first thread of a kernel that fails fills it; the proxy takes
// and prints it. Later failures are dropped until it has been taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device/handle.hpp>

#include <weft/dev/platform.hpp>
#include <weft/dev/state.hpp>

// A rarely taken way that must not bloat the code around its callers. Arguments go by value, or as
// one struct that is made for the call: a reference to anything else would make every caller keep
// what it names in memory, the context above all.
// HIP's headers define __noinline__ as nothing; the attribute counts everywhere.
#if WEFT_TARGET_CPU
#define WEFT_DEVICE_COLD [[gnu::cold, gnu::noinline]] inline
#else
#define WEFT_DEVICE_COLD inline __device__ __attribute__((noinline))
#endif

// A function of some size that is called from many places: on GPUs one copy of it, or the compiler
// would drown in inlined puts.
#if WEFT_TARGET_CPU
#define WEFT_DEVICE_CALLED inline
#else
#define WEFT_DEVICE_CALLED inline __device__ __attribute__((noinline))
#endif

// A part of a rarely taken way. With -rdc=true it is a function of its own: what others may call
// keeps to the assembler's ABI, under which a function's registers are as many as are live at once,
// and a kernel has those of the largest that it may reach. So what is passed by reference lies in
// memory there, and is read where it is used.
#if defined(__CUDACC_RDC__)
#define WEFT_DEVICE_PIECE inline __device__ __attribute__((noinline))
#else
#define WEFT_DEVICE_PIECE WEFT_DEVICE
#endif

// Before a loop that is there many times, or seldom taken: not unrolled further.
#if WEFT_TARGET_CPU
#define WEFT_DEVICE_AS_A_LOOP
#define WEFT_DEVICE_FOUR_AT_A_TIME
#else
#define WEFT_DEVICE_AS_A_LOOP _Pragma("unroll 1")
#define WEFT_DEVICE_FOUR_AT_A_TIME _Pragma("unroll 4")
#endif

namespace weft::dev {
inline namespace WEFT_TARGET {

// A function that is seldom called, for callers that are inlined into kernels. Without -rdc=true
// the assembler knows all that a kernel calls, and each function has registers behind those of its
// callers, so a kernel has as many as the longest chain of calls. One that is called by its address
// keeps to the ABI, as all do with -rdc=true: what lives across the call is saved.
template <class Function>
WEFT_DEVICE Function* by_abi(Function* function) {
#if WEFT_TARGET_CUDA && !defined(__clang__) && !defined(__CUDACC_RDC__)
  asm volatile("" : "+l"(function));
#endif
  return function;
}

// How a function of its own takes a struct: by value. Clang hands such structs to functions of
// NVIDIA's GPUs in memory as well (byval), which compilers that link bitcode, as Triton, do not
// take in all of their releases: there by reference. Nobody writes to one.
#if WEFT_TARGET_CUDA && defined(__clang__)
template <class T>
using ByValue = const T&;
#else
template <class T>
using ByValue = T;
#endif

// The part of a context that goes along to a rarely taken way, so that its caller has few registers
// to fill; the rest lies behind `state`.
struct ColdContext {
  const DeviceState* state;
  std::int32_t lane;
  std::uint32_t flags;
  WEFT_DEVICE ColdContext(const DeviceContext& h) : state(h.state), lane(h.lane), flags(h.flags) {}
  WEFT_DEVICE operator DeviceContext() const {
    DeviceContext h;
    h.heap = state->heap;
    h.peer = state->peer;
    h.state = state;
    h.heap_bytes = state->heap_bytes;
    h.pe = state->pe;
    h.npes = state->npes;
    h.lane = lane;
    h.flags = flags;
    return h;
  }
};

// The facts that the failing thread knows; the rest is found here.
struct Fault {
  FaultCode code = FaultCode::kNone;
  const char* where = "";
  int pe = -1;
  std::uint64_t offset = kNoHeapOffset;
  std::uint64_t seen = 0;
  std::uint64_t wanted = 0;
  std::uint64_t waited_ns = 0;
  Cmp cmp = Cmp::kEq;
  WordType type = WordType::kUnsigned;
  bool may_go_on = false;  // a wait that does what WEFT_WAIT_ACTION=wait says
};

WEFT_DEVICE void copy_text(char* to, std::uint32_t bytes, const char* from) {
  std::uint32_t i = 0;
  WEFT_DEVICE_AS_A_LOOP
  for (; i + 1 < bytes && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

// The deadline of every wait that begins or goes on now. Relaxed: it orders nothing. It is loaded
// each time, since the host shortens it when the job ends.
WEFT_DEVICE std::uint64_t deadline_of(const DeviceState& state) {
  return platform::load<Order::kRelaxed, Reach::kSystem>(&state.deadline_ns);
}
// A wait that has reached its deadline reports, and goes on.
WEFT_DEVICE bool waits_go_on(const DeviceState& state) {
  return state.waits_on != 0 && deadline_of(state) != kJobHasEnded;
}

// Inlined, for who may not call; others report().
WEFT_DEVICE void fill_report(const DeviceState& state, std::int32_t lane, const Fault& fault) {
  FaultRecord* record = state.fault;
  const bool goes_on = fault.may_go_on && waits_go_on(state);
  // Only threads of one device claim it, so that device's own atomics do: not every PCIe has some
  // on memory of the host.
  if (record != nullptr &&
      platform::compare_swap<Order::kRelaxed, Reach::kDevice>(&record->claimed, 0u, 1u) == 0u) {
    // Acquire: the host has read the last fault before it gave the record back (take_fault), and
    // my 1 came behind that 0.
    (void)platform::load<Order::kAcquire, Reach::kSystem>(&record->claimed);
    copy_text(record->where, sizeof(record->where), fault.where);
    record->pe = fault.pe;
    record->block = platform::block_rank();
    record->thread = platform::thread_rank();
    record->cmp = static_cast<std::uint32_t>(fault.cmp);
    record->lane = static_cast<std::uint32_t>(lane);
    record->type = fault.type;
    record->offset = fault.offset;
    record->seen = fault.seen;
    record->wanted = fault.wanted;
    record->waited_ns = fault.waited_ns;
    record->goes_on = goes_on ? 1 : 0;
    // Release: pairs with the acquire in take_fault.
    platform::store<Order::kRelease, Reach::kSystem>(&record->code,
                                                     static_cast<std::uint32_t>(fault.code));
  }
  // A wait that may not return before it has succeeded ends with its kernel.
  const bool must_succeed = fault.may_go_on && state.waits_on != 0;
  if ((state.trap_on_fault != 0 || must_succeed) && !goes_on) platform::trap();
}
// The wait that `fault` describes reached its deadline on a word of my heap.
WEFT_DEVICE void report_timeout(const DeviceContext& h, Fault& fault, const std::uint64_t* word) {
  fault.code = FaultCode::kWaitTimeout;
  fault.offset =
      static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(word) - h.state->heap);
  fill_report(*h.state, h.lane, fault);
}
WEFT_DEVICE_COLD void report(ByValue<ColdContext> h, const Fault& fault) {
  fill_report(*h.state, h.lane, fault);
}

#if WEFT_TARGET_CPU
// Host end (libweft is compiled for the CPU target): copies a finished record out and gives it back
// to the kernels; false when there is none.
inline bool take_fault(FaultRecord& record, FaultRecord* out) {
  const std::uint32_t code = platform::load<Order::kAcquire, Reach::kSystem>(&record.code);
  if (code == 0) return false;
  out->code = code;
  constexpr std::size_t kAfterCode = offsetof(FaultRecord, pe);  // kernels go on claiming
  std::memcpy(reinterpret_cast<char*>(out) + kAfterCode,
              reinterpret_cast<const char*>(&record) + kAfterCode,
              sizeof(FaultRecord) - kAfterCode);
  platform::store<Order::kRelaxed, Reach::kSystem>(&record.code, 0u);
  // Release: the next thread that claims the record writes it after it was read here.
  platform::store<Order::kRelease, Reach::kSystem>(&record.claimed, 0u);
  return true;
}
#endif

}  // namespace WEFT_TARGET
}  // namespace weft::dev
