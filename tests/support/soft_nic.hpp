// A NIC of software that plays ConnectX for one send queue: a thread that hears the doorbell, reads
// the requests byte by byte as the hardware would, carries them out on this process's memory, and
// writes completions. It may be late with all of it, and as unordered as the hardware may be; it
// can fail and stop. It knows nothing of the code under test, so that neither hides the other's
// mistakes.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <weft/dev/nic/queue.hpp>
#include <weft/dev/state.hpp>

namespace weft::test {

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct SoftNicOptions {
  std::uint64_t capacity = 16;
  std::uint64_t result_count = 4;
  std::uint64_t first = 0;          // requests that the queue has had before
  std::uint64_t seed = 1;           // of what comes late
  bool reads_doorbell = true;       // else it looks at the doorbell record
  std::uint64_t stops_at = kNever;  // the request that it leaves where it is, until resume()
  std::uint64_t fails_at = kNever;  // the request that fails
  std::uint8_t syndrome = 0;        // and why
  bool flushes = false;             // the entries of requests behind it overwrite its own
};

class SoftNic {
 public:
  SoftNic(std::byte* remote, const SoftNicOptions& options)
      : options_(options),
        random_(options.seed),
        told_(options.first),
        executed_(options.first),
        completed_(options.first),
        stops_at_(options.stops_at),
        slots_(options.capacity),
        written_(options.capacity),
        results_(options.result_count),
        result_owner_(options.result_count) {
    record_ = swapped(static_cast<std::uint32_t>(options.first & 0xffff));
    completion_[7] = std::uint64_t{0xf1} << 56;  // invalid
    counts_.reserved = counts_.next_to_ring = counts_.rung = counts_.seen = counts_.completed =
        options.first;
    counts_.credit = options.capacity;
    for (std::uint64_t ticket = options.first - std::min(options.first, options.capacity);
         ticket < options.first; ++ticket)
      written_[ticket % options.capacity] = static_cast<std::uint32_t>(ticket + 1);
    view_.slots = slots_[0].bytes;
    view_.capacity = options.capacity;
    view_.counts = &counts_;
    view_.written = written_.data();
    view_.record = &record_;
    view_.doorbell = &doorbell_;
    view_.completion = completion_;
    view_.number = kNumber;
    view_.local_key = kLocalKey;
    view_.remote_key = kRemoteKey;
    view_.remote_base = reinterpret_cast<std::uintptr_t>(remote);
    view_.results = results_.data();
    view_.result_owner = result_owner_.data();
    view_.result_count = options.result_count;
    view_.unwanted = &unwanted_;
    thread_ = std::thread([this] { run(); });
  }
  ~SoftNic() {
    over_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  SoftNic(const SoftNic&) = delete;
  SoftNic& operator=(const SoftNic&) = delete;

  const QueueView& view() const { return view_; }
  void resume() { stops_at_.store(kNever, std::memory_order_relaxed); }
  // Requests and doorbells that no driver may write.
  int mistakes() const { return mistakes_.load(std::memory_order_relaxed); }
  // How often it was told of more requests.
  std::uint64_t bells() const { return bells_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kNumber = 0x00abcdef, kLocalKey = 0x1234567, kRemoteKey = 0x89abc;
  static constexpr std::uint64_t kFence = 0x80, kCompletes = 0x08, kFlags = kFence | kCompletes;
  static constexpr std::uint8_t kFlushed = 5;
  enum Kind : std::uint8_t { kWrite = 0x08, kRead = 0x10, kCompareSwap = 0x11, kFetchAdd = 0x12 };

  struct alignas(64) Slot {
    std::byte bytes[64];
  };
  struct Request {
    std::uint64_t index = 0;
    Kind kind = kWrite;
    bool fences = false, is_inline = false;
    std::uint64_t remote = 0, local = 0, bytes = 0, value = 0, compare = 0;
    std::byte data[28];
  };

  static std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
  static std::uint64_t big(const std::byte* from, int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(from[i]);
    return value;
  }
  static std::uint64_t widened(std::uint64_t known, std::uint64_t low) {
    return known + static_cast<std::uint16_t>(low - known);
  }
  void expect(bool right) {
    if (!right) mistakes_.fetch_add(1, std::memory_order_relaxed);
  }
  bool now_and_then(unsigned of) { return random_() % of == 0; }

  void run() {
    while (!over_.load(std::memory_order_relaxed)) {
      listen();
      for (std::uint64_t n = random_() % (options_.capacity + 1); n > 0; --n) execute_next();
      if (now_and_then(2)) carry_out_postponed(1);
      if (now_and_then(2)) complete_some();
      sched_yield();
    }
  }

  void listen() {
    const std::uint64_t before = told_;
    if (options_.reads_doorbell) {
      const std::uint64_t value = __atomic_load_n(&doorbell_, __ATOMIC_ACQUIRE);
      if (value == heard_) return;
      heard_ = value;
      std::byte control[8];
      std::memcpy(control, &value, sizeof(value));
      told_ = widened(told_, big(control + 1, 2) + 1);
      expect(big(control + 4, 3) == kNumber);
      const std::uint32_t record = swapped(__atomic_load_n(&record_, __ATOMIC_RELAXED));
      expect(static_cast<std::uint16_t>(record - told_) <= options_.capacity);
    } else {
      told_ = widened(told_, swapped(__atomic_load_n(&record_, __ATOMIC_ACQUIRE)));
    }
    expect(told_ - completed_ <= options_.capacity);
    if (told_ != before) bells_.fetch_add(1, std::memory_order_relaxed);
  }

  void execute_next() {
    if (executed_ == told_ || executed_ >= stops_at_.load(std::memory_order_relaxed)) return;
    if (executed_ >= options_.fails_at) return fail();
    const Request request = read_slot();
    ++executed_;
    // Later writes may overtake a read or an atomic, unless there is a fence.
    if (request.fences) carry_out_postponed(kNever);
    if (request.kind == kWrite)
      carry_out(request);
    else
      postponed_.push_back(request);
  }

  Request read_slot() {
    const std::byte* const slot = slots_[executed_ % options_.capacity].bytes;
    Request r;
    r.index = executed_;
    r.kind = static_cast<Kind>(slot[3]);
    const std::uint64_t flags = big(slot + 11, 1), units = big(slot + 7, 1);
    r.fences = (flags & kFence) != 0;
    r.remote = big(slot + 16, 8);
    expect(big(slot, 1) == 0 && big(slot + 1, 2) == (executed_ & 0xffff));
    expect(big(slot + 4, 3) == kNumber && big(slot + 8, 3) == 0 && (flags & ~kFlags) == 0);
    expect((flags & kCompletes) != 0 && big(slot + 24, 4) == kRemoteKey);
    if (r.kind == kCompareSwap || r.kind == kFetchAdd) {
      r.value = big(slot + 32, 8);
      r.compare = big(slot + 40, 8);
      read_local(r, slot + 48);
      expect(units == 4 && r.bytes == 8 && r.remote % 8 == 0);
      return r;
    }
    expect(r.kind == kWrite || r.kind == kRead);
    if (units == 2) return r;  // no bytes
    r.is_inline = (big(slot + 32, 4) & 0x80000000u) != 0;
    if (r.is_inline) {
      r.bytes = big(slot + 32, 4) & 0x7fffffffu;
      expect(r.kind == kWrite && r.bytes <= sizeof(r.data));
      expect(units == 2 + (4 + r.bytes + 15) / 16);
      std::memcpy(r.data, slot + 36, sizeof(r.data));
      return r;
    }
    read_local(r, slot + 32);
    expect(units == 3 && r.bytes != 0);
    return r;
  }
  void read_local(Request& r, const std::byte* segment) {
    r.bytes = big(segment, 4);
    r.local = big(segment + 8, 8);
    expect(big(segment + 4, 4) == kLocalKey);
  }

  void carry_out_postponed(std::uint64_t count) {
    for (; count > 0 && !postponed_.empty(); --count) {
      carry_out(postponed_.front());
      postponed_.pop_front();
    }
  }
  static void carry_out(const Request& r) {
    auto* const remote = reinterpret_cast<std::byte*>(r.remote);
    auto* const word = reinterpret_cast<std::uint64_t*>(r.remote);
    auto* const local = reinterpret_cast<std::byte*>(r.local);
    std::uint64_t old = r.compare;
    switch (r.kind) {
      case kWrite:
        if (r.is_inline && r.bytes == sizeof(old) && r.remote % sizeof(old) == 0) {
          std::memcpy(&old, r.data, sizeof(old));
          __atomic_store_n(word, old, __ATOMIC_RELEASE);
        } else if (r.bytes != 0) {
          std::memcpy(remote, r.is_inline ? r.data : local, r.bytes);
        }
        return;
      case kRead: std::memcpy(local, remote, r.bytes); return;
      case kFetchAdd: old = __atomic_fetch_add(word, r.value, __ATOMIC_ACQ_REL); break;
      case kCompareSwap:
        __atomic_compare_exchange_n(word, &old, r.value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        break;
    }
    std::memcpy(local, &old, sizeof(old));
  }

  void complete_some() {
    const std::uint64_t end = postponed_.empty() ? executed_ : postponed_.front().index;
    if (end == completed_) return;
    completed_ += 1 + random_() % (end - completed_);
    write_completion(completed_ - 1, 0x00, 0);
  }
  void fail() {
    carry_out_postponed(kNever);
    if (executed_ == options_.fails_at) {
      completed_ = executed_;
      write_completion(executed_, 0xd0, options_.syndrome);
      ++executed_;
    } else if (options_.flushes) {
      write_completion(executed_, 0xd0, kFlushed);
      ++executed_;
    }
    completed_ = executed_;
  }
  void write_completion(std::uint64_t index, std::uint64_t opcode, std::uint64_t syndrome) {
    const std::uint64_t owner = index / options_.capacity & 1;
    const std::uint64_t last =
        std::uint64_t{kNumber} << 32 | (index & 0xffff) << 16 | opcode | owner;
    __atomic_store_n(&completion_[6], __builtin_bswap64(syndrome), __ATOMIC_RELAXED);
    __atomic_store_n(&completion_[7], __builtin_bswap64(last), __ATOMIC_RELEASE);
  }

  const SoftNicOptions options_;
  std::mt19937_64 random_;
  std::uint64_t told_, executed_, completed_, heard_ = 0;
  std::deque<Request> postponed_;
  std::atomic<std::uint64_t> stops_at_, bells_{0};
  std::atomic<int> mistakes_{0};
  std::atomic<bool> over_{false};

  std::vector<Slot> slots_;
  QueueCounts counts_;
  std::vector<std::uint32_t> written_;
  alignas(64) std::uint32_t record_ = 0;
  alignas(64) std::uint64_t doorbell_ = 0;
  alignas(64) std::uint64_t completion_[8] = {};
  std::vector<std::uint64_t> results_, result_owner_;
  std::uint64_t unwanted_ = 0;
  QueueView view_;
  std::thread thread_;
};

// PE 0 of two, whose only way to PE 1 is a soft NIC.
struct NicJob {
  static constexpr int kPeer = 1;

  explicit NicJob(const SoftNicOptions& options, std::size_t heap_words = 1024)
      : heap(heap_words), nic(reinterpret_cast<std::byte*>(heap.data()), options) {
    queues[kPeer] = nic.view();
    state.npes = 2;
    state.queues = queues;
    state.fault = &fault;
    handle.state = &state;
    handle.npes = 2;
  }

  std::vector<std::uint64_t> heap;  // PE 1's
  SoftNic nic;
  QueueView queues[2];
  FaultRecord fault;
  DeviceState state;
  DeviceContext handle;
};

// An op that a test asks PE 1 for.
inline Op op_of(OpKind kind, std::size_t word, std::uint64_t value = 0) {
  Op op;
  op.kind = kind;
  op.pe = NicJob::kPeer;
  op.remote = word * sizeof(std::uint64_t);
  op.value = value;
  op.width = sizeof(std::uint64_t);
  return op;
}
inline Op copy_of(OpKind kind, std::size_t word, const std::uint64_t* local, std::size_t count) {
  Op op = op_of(kind, word);
  op.local = reinterpret_cast<std::uintptr_t>(local);
  op.bytes = count * sizeof(std::uint64_t);
  return op;
}

}  // namespace weft::test
