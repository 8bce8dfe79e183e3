// Litmus programs of what kernels share with the host: rings, faults, adopted memory. Exit status
// 0: every promise was kept.
#include "tests/mutation/litmus.hpp"

#include <sched.h>

#include <atomic>
#include <cstring>
#include <vector>

namespace weft::litmus {
namespace {

// Many producers, a ring of two: credit, laps, cells.
void small_ring(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  constexpr unsigned kBlocks = 2, kProducers = kBlocks * kThreads, kEach = 10;
  const Lines src(job, 16, kProducers), dst(job, 16, kProducers), words(job, kEach, kProducers);
  const Lines sum(job, 1, 3);
  Word* const signalled = sum.of(job, 0);
  Word* const counted = signalled + 1;
  std::atomic<Word> tickets{0};
  run_grids(1, kBlocks, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const unsigned me = dev::platform::block_rank() * kThreads + dev::platform::thread_rank();
    for (Word i = 0; i < kEach; ++i) {
      ctx.signal(add(signalled, i + 1), 1);
      ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
    }
    fill(Thread{}, src.of(job, pe, me), 16, me);
    ctx.put(Thread{}, dst.of(job, pe, me), src.of(job, pe, me), 16, 1);
    spoil(Thread{}, src.of(job, pe, me), 16);
    tickets.fetch_or(Word{1} << ctx.atomic_fetch_inc(counted, 1), std::memory_order_relaxed);
    ctx.quiet(Thread{});
    for (Word i = 0; i < kEach; ++i) LITMUS(ctx.g(words.of(job, pe, me) + i, 1) == mark(me, i));
  });
  LITMUS(tickets.load() == (Word{1} << kProducers) - 1);
  for (unsigned p = 0; p < kProducers; ++p) LITMUS(is_filled(dst.of(job, 1, p), 16, p));
  LITMUS(*sum.of(job, 1) == kProducers * kEach * (kEach + 1) / 2);
}

// Producers that wait for nothing but room: only credit keeps them from what the host still reads.
void credit_only(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines sum(job, 1, 1);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (int i = 0; i < 20; ++i) ctx.signal(add(sum.of(job, pe), 1), 1);
  });
  const Context last(job.handle(0));
  last.quiet(Thread{});
  LITMUS(*sum.of(job, 1) == kThreads * 20);
}

// Each thread asks once and then does nothing that could order its reading by accident.
void one_word_each(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines count(job, 1, 1);
  std::atomic<Word> seen{0};
  run_grids(1, 4, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    seen.fetch_or(Word{1} << ctx.atomic_fetch_inc(count.of(job, pe), 1), std::memory_order_relaxed);
  });
  LITMUS(seen.load() == (Word{1} << 4 * kThreads) - 1);
}

// Values that a slot's own word carries: nobody writes it before the host has read it.
void carried_words(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines words(job, 16, kThreads);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const std::size_t me = dev::platform::thread_rank();
    for (std::size_t i = 0; i < 16; ++i) ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
  });
  const Context last(job.handle(0));
  last.quiet(Thread{});
  for (std::size_t t = 0; t < kThreads; ++t) LITMUS(is_filled(words.of(job, 1, t), 16, t));
}

// A thread that gave up waiting for a word leaves a cell that the host still writes to: nobody else
// uses it before that.
void abandoned_words(JobOptions options) {
  options.ring_capacity = 2;
  options.deadline_ns = 1;
  DeviceJob job(options);
  constexpr std::size_t kEach = 100;
  const Lines words(job, kEach, kThreads), count(job, 1, 1);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const std::size_t me = dev::platform::thread_rank();
    for (std::size_t i = 0; i < kEach; ++i) {
      ctx.atomic_fetch_inc(count.of(job, pe), 1);
      ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
    }
  });
  job.stop_proxies();
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t i = 0; i < kEach; ++i) {
      const Word word = words.of(job, 1, t)[i];
      LITMUS(word == 0 || word == mark(t, i));
    }
}

// A thread knows here that all is complete by what another thread has asked the host.
void known_by_another(JobOptions options) {
  DeviceJob job(options);
  const Lines src(job, 16, 1), dst(job, 16, 1);
  fill(Thread{}, src.of(job, 1), 16, 7);
  std::atomic<bool> asked{false};
  run_grids(1, 1, 2, [&](int pe) {
    const Context ctx(job.handle(pe));
    if (dev::platform::thread_rank() == 0) {
      ctx.get_nbi(Thread{}, dst.of(job, pe), src.of(job, pe), 16, 1);
      ctx.quiet(Thread{});
      asked.store(true, std::memory_order_relaxed);
    } else {
      while (!asked.load(std::memory_order_relaxed)) sched_yield();
      ctx.quiet(Thread{});
    }
    LITMUS(is_filled(dst.of(job, pe), 16, 7));
  });
}

// Threads fail one after the other; the host takes every record whole.
void faults(JobOptions options) {
  forget_fences();  // the thread that takes them has fenced in other programs
  options.deadline_ns = 1;
  options.proxy = false;
  DeviceJob job(options);
  const Lines words(job, 1, kThreads);
  std::atomic<int> running{kThreads};
  std::thread kernel([&] {
    run_grids(1, 1, kThreads, [&](int pe) {
      const Context ctx(job.handle(pe));
      const Word me = dev::platform::thread_rank();
      for (int i = 0; i < 50; ++i) {
        LITMUS(!ctx.wait_until(Thread{}, words.of(job, pe, me), Cmp::kEq, me + 100));
        sched_yield();
      }
      running.fetch_sub(1, std::memory_order_relaxed);
    });
  });
  int taken = 0;
  FaultRecord record;
  while (running.load(std::memory_order_relaxed) > 0) {
    if (!job.take_fault(0, &record)) {
      sched_yield();
      continue;
    }
    ++taken;
    LITMUS(record.code == static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
    LITMUS(record.wanted == record.thread + 100 && record.seen == 0);
    LITMUS(job.at<Word>(0, record.offset) == words.of(job, 0, record.thread));
    LITMUS(std::strcmp(record.where, "wait_until") == 0);
  }
  kernel.join();
  LITMUS(taken > 0);
}

// A range that the host adopts while a kernel looks for it is found whole, or not yet.
void adopted_meanwhile(JobOptions options) {
  forget_fences();
  options.npes = 1;
  DeviceJob job(options);
  std::vector<Word> own(4);
  AdoptedRange range;
  job.state(0).adopted = &range;
  std::thread host([&] {
    range = {reinterpret_cast<const std::byte*>(own.data()), own.size() * sizeof(Word), 4096};
    __atomic_store_n(&job.state(0).adopted_count, 1, __ATOMIC_RELEASE);  // as Job::show_adopted
  });
  run_grids(1, 1, 1, [&](int pe) {
    const DeviceContext handle = job.handle(pe);
    std::uint64_t offset = 0;
    while ((offset = dev::adopted_offset(handle, &own[1], sizeof(Word))) == kNoHeapOffset)
      sched_yield();
    LITMUS(offset == 4096 + sizeof(Word));
  });
  host.join();
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  const auto [mapped, by_ring] = begin(argc, argv);
  small_ring(by_ring);
  credit_only(by_ring);
  one_word_each(by_ring);
  carried_words(by_ring);
  abandoned_words(by_ring);
  known_by_another(by_ring);
  faults(mapped);
  adopted_meanwhile(mapped);
  return 0;
}
