#include "src/platform/cpu/crew.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"

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
constexpr unsigned kFirstWoken = 2;
constexpr unsigned kWokenByEach = 2;

}  // namespace

// One thread; lives on that thread's stack.
struct Worker {
  FutexWord called{0};
  std::shared_ptr<Crew> crew;  // written before `called`
  Worker* next = nullptr;      // on the bench

  void join(std::shared_ptr<Crew> to) {
    crew = std::move(to);
    called.store(1, std::memory_order_release);
    futex_wake(called, 1);
  }

  [[noreturn]] void live();
};

namespace {

// Idle threads. Taken all at once and given back one by one, so the list needs no lock; and a taker
// who finds it empty leaves no order behind for the next one.
class Bench {
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

Bench& bench() {
  static Bench* const one = [] {
    auto* made = new Bench;  // for as long as the process: threads sit on it until the end
    // The threads of a parent do not exist in its child.
    ::pthread_atfork(nullptr, nullptr, [] { bench().empty(); });
    return made;
  }();
  return *one;
}

}  // namespace

void Worker::live() {
  for (;;) {
    // acquire: pairs with the release in join().
    while (called.load(std::memory_order_acquire) == 0) futex_wait(called, 0);
    called.store(0, std::memory_order_relaxed);
    crew->serve();
    crew.reset();
    bench().sit(this, this);
  }
}

namespace {

void* worker_main(void* crew) {
  Worker self;
  {
    const std::unique_ptr<std::shared_ptr<Crew>> first(static_cast<std::shared_ptr<Crew>*>(crew));
    self.join(std::move(*first));
  }
  self.live();
}

// A detached thread that begins in `crew`. Signals are for the program's own threads.
int start_worker(const std::shared_ptr<Crew>& crew) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);

  sigset_t blocked, before;
  ::sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) {
    ::sigdelset(&blocked, fault);
  }
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto argument = std::make_unique<std::shared_ptr<Crew>>(crew);
  pthread_t thread;
  const int failure = ::pthread_create(&thread, &attributes, worker_main, argument.get());
  if (failure == 0) {
    argument.release();
    ::pthread_setname_np(thread, "weft-grid");
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return failure;
}

}  // namespace

Status Crew::grow(unsigned threads) {
  if (threads <= size_) return Status::ok();
  const unsigned before = size_;
  Worker* idle = bench().take_all();
  while (idle != nullptr && size_ < threads) {
    Worker* const worker = std::exchange(idle, idle->next);
    worker->join(shared_from_this());
    ++size_;
  }
  if (idle != nullptr) {
    Worker* last = idle;
    while (last->next != nullptr) last = last->next;
    bench().sit(idle, last);
  }
  while (size_ < threads) {
    if (const int failure = start_worker(shared_from_this()); failure != 0) {
      return Status::error(
          Code::kOutOfMemory,
          fmt::format("a grid of {} threads: the system gave this stream {} ({} more than before), "
                      "then refused: {}; nothing was run. Launch fewer threads, or raise the limit "
                      "on processes (ulimit -u, the container's pids limit) or on address space "
                      "(ulimit -v)",
                      threads, size_, size_ - before, std::strerror(failure)));
    }
    ++size_;
  }
  return Status::ok();
}

void Crew::start(Job& job, unsigned threads) {
  job_ = &job;
  // release: whoever takes a rank (acquire in take_rank) sees the job and what its launcher wrote.
  ranks_.store(threads, std::memory_order_release);
  ring(kFirstWoken);
}

void Crew::dismiss() {
  dismissed_.store(true, std::memory_order_relaxed);
  ring(INT_MAX);
}

void Crew::ring(std::uint32_t threads) {
  // release: pairs with serve()'s acquire, so whoever hears the bell finds what it was rung for. A
  // thread that is awake looks again before it sleeps.
  bell_.fetch_add(1, std::memory_order_release);
  futex_wake(bell_, threads);
}

void Crew::serve() {
  for (;;) {
    const std::uint32_t heard = bell_.load(std::memory_order_acquire);
    unsigned rank;
    if (take_rank(rank)) {
      // As many ranks are left as this one's number. Before it is busy for who knows how long, it
      // wakes others for them: a tree, so the launcher does not pay for all, and threads that end
      // early run the ranks of threads that need not wake.
      if (rank > 0) futex_wake(bell_, std::min(rank, kWokenByEach));
      job_->run(rank);
    } else if (dismissed_.load(std::memory_order_relaxed)) {
      return;
    } else {
      futex_wait(bell_, heard);
    }
  }
}

bool Crew::take_rank(unsigned& rank) {
  std::uint32_t left = ranks_.load(std::memory_order_relaxed);
  while (left != 0) {
    // acquire: pairs with start(); no release, so threads of one grid do not order each other.
    if (ranks_.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      rank = left - 1;
      return true;
    }
  }
  return false;
}

}  // namespace weft::cpu
