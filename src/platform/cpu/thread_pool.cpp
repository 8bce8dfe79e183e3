#include "src/platform/cpu/thread_pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/base/thread.hpp"
#include "src/platform/cpu/futex.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_BIG_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define WEFT_BIG_FRAMES 1
#endif
#endif

namespace weft::cpu {
namespace {

#ifdef WEFT_BIG_FRAMES
constexpr std::size_t kStackBytes = std::size_t{2} << 20;  // instrumented frames are larger
#else
constexpr std::size_t kStackBytes = std::size_t{512} << 10;
#endif

struct Order {
  ThreadPool::Job* job = nullptr;  // null: leave for the free list
  unsigned threads = 0;
};

}  // namespace

// One thread. It lives as long as the process, in a pool or on the free list.
struct alignas(64) Worker {
  FutexWord called{0};  // 1 while there is an order that the thread has not taken yet
  Order order;          // written before `called`
  // Its place in its pool; written before its first call there. The workers of a pool are a tree,
  // in which each calls two others before it is busy for who knows how long: so a launch costs its
  // caller next to nothing, and the calls run in parallel.
  unsigned rank = 0;
  Worker* children[2] = {};  // of the ranks 2 * rank + 1 and + 2
  Worker* next = nullptr;    // on the free list

  void call(Order what) {
    order = what;
    // release: pairs with the acquire in take_order(). The caller is the launcher, or a parent that
    // has not begun to run its own rank: so this orders no kernel code of the same job.
    called.store(1, std::memory_order_release);
    futex_wake(called, 1);
  }

  Order take_order() {
    while (called.load(std::memory_order_acquire) == 0) futex_wait(called, 0);
    called.store(0, std::memory_order_relaxed);
    return order;
  }

  [[noreturn]] void live();
};

namespace {

// Idle threads. Taken all at once and given back one by one, so the list needs no lock; and a taker
// who finds it empty leaves no order behind for the next one.
class FreeList {
 public:
  void sit(Worker* first, Worker* last) {
    Worker* head = head_.load(std::memory_order_relaxed);
    do {
      last->next = head;
      // release: pairs with the acquire in take_all(), which then reads `next`.
    } while (!head_.compare_exchange_weak(head, first, std::memory_order_release,
                                          std::memory_order_relaxed));
  }
  Worker* take_all() {
    return head_.load(std::memory_order_relaxed) == nullptr
               ? nullptr
               : head_.exchange(nullptr, std::memory_order_acquire);
  }
  void empty() { head_.store(nullptr, std::memory_order_relaxed); }

 private:
  std::atomic<Worker*> head_{nullptr};
};

FreeList& free_list() {
  static FreeList* const one = [] {
    auto* made = new FreeList;  // for as long as the process: threads sit on it until the end
    // The threads of a parent do not exist in its child.
    ::pthread_atfork(nullptr, nullptr, [] { free_list().empty(); });
    return made;
  }();
  return *one;
}

}  // namespace

void Worker::live() {
  for (;;) {
    const Order mine = take_order();
    for (unsigned i = 0; i < 2; ++i) {
      if (2 * rank + 1 + i < mine.threads) children[i]->call(mine);
    }
    if (mine.job != nullptr) {
      mine.job->run(rank);
    } else {
      free_list().sit(this, this);
    }
  }
}

namespace {

// A detached thread without an order. It runs the program's kernels: faults and profiles are its
// own.
Status start_worker(Worker& worker) {
  const ThreadPlan plan{
      "weft-grid", kStackBytes, {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}};
  ASSIGN_OR_RETURN(Thread thread, start_thread(plan, [&worker] { worker.live(); }));
  thread.detach();
  return Status::ok();
}

}  // namespace

ThreadPool::~ThreadPool() {
  if (!workers_.empty()) workers_[0]->call({nullptr, static_cast<unsigned>(workers_.size())});
}

Status ThreadPool::grow(unsigned threads) {
  if (threads <= workers_.size()) return Status::ok();
  workers_.reserve(threads);
  Worker* idle = free_list().take_all();
  while (idle != nullptr && workers_.size() < threads) add(*std::exchange(idle, idle->next));
  if (idle != nullptr) {
    Worker* last = idle;
    while (last->next != nullptr) last = last->next;
    free_list().sit(idle, last);
  }
  return create(threads);
}

Status ThreadPool::create(unsigned threads) {
  while (workers_.size() < threads) {
    auto worker = std::make_unique<Worker>();
    if (const Status started = start_worker(*worker); !started.is_ok()) {
      return Status::error(
          started.code(),
          fmt::format(
              "a grid of {} threads: the system gave {}, and then: {}; nothing was run. Launching "
              "fewer threads helps, too",
              threads, workers_.size(), started.text()));
    }
    add(*worker.release());  // its thread's from now on
  }
  return Status::ok();
}

// Below its parent in the tree. A parent that runs a job meanwhile looks only at children that were
// there when the job began.
void ThreadPool::add(Worker& worker) {
  const auto rank = static_cast<unsigned>(workers_.size());
  worker.rank = rank;
  if (rank > 0) workers_[(rank - 1) / 2]->children[(rank - 1) % 2] = &worker;
  workers_.push_back(&worker);
}

void ThreadPool::start(Job& job, unsigned threads) { workers_[0]->call({&job, threads}); }

}  // namespace weft::cpu
