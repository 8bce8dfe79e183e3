// Litmus programs of the third door: what kernels share with a NIC, here one of software, and among
// themselves. Each runs once with a NIC that hears the bell and once with one that looks at the
// record. Exit status 0: every promise was kept.
#include "tests/mutation/litmus.hpp"

#include <sched.h>

#include <algorithm>
#include <vector>

#include <weft/dev/nic/operations.hpp>
#include <weft/dev/nic/mlx5.hpp>

#include "tests/support/soft_nic.hpp"

namespace weft::litmus {
namespace {

using dev::nic::Mlx5;
using test::copy_of;
using test::NicJob;
using test::op_of;
using test::SoftNicOptions;

bool put(const NicJob& job, const Op& op) { return dev::nic::put<Mlx5>(job.handle, "put", op); }
bool get(const NicJob& job, const Op& op, bool waits) {
  return dev::nic::get<Mlx5>(job.handle, "get", op, waits);
}
bool change(const NicJob& job, const Op& op) {
  return dev::nic::change<Mlx5>(job.handle, "signal", op);
}
bool quiet(const NicJob& job) { return dev::nic::quiet<Mlx5>(job.handle, "quiet", NicJob::kPeer); }
unsigned my_rank() { return dev::platform::thread_rank(); }

// Many threads, a queue of two: credit, laps, whose source may be reused.
void small_queue(SoftNicOptions options) {
  options.capacity = 2;
  NicJob job(options);
  run_grids(1, 1, kThreads, [&](int) {
    const std::size_t me = my_rank(), mine = me * 2 * kPart;
    Word source[kPart], back[kPart];
    for (Word i = 0; i < kRounds; ++i) {
      fill(Thread{}, source, kPart, me + i);
      LITMUS(put(job, copy_of(OpKind::kPut, mine, source, kPart)));
      spoil(Thread{}, source, kPart);
      LITMUS(change(job, op_of(OpKind::kAmoSet, mine + kPart, i)));
      LITMUS(change(job, op_of(OpKind::kAmoAdd, 512, 1)));
      LITMUS(quiet(job));
      LITMUS(is_filled(&job.heap[mine], kPart, me + i) && job.heap[mine + kPart] == i);
      LITMUS(get(job, copy_of(OpKind::kGet, mine, back, kPart), true));
      LITMUS(is_filled(back, kPart, me + i));
    }
  });
  LITMUS(job.heap[512] == kThreads * kRounds && job.nic.mistakes() == 0);
}

// Producers that wait for nothing but room: only credit keeps them from what the NIC still reads.
void room_only(SoftNicOptions options) {
  options.capacity = 2;
  NicJob job(options);
  run_grids(1, 1, kThreads, [&](int) {
    for (Word i = 1; i <= 20; ++i) LITMUS(change(job, op_of(OpKind::kAmoSet, my_rank(), i)));
  });
  LITMUS(quiet(job));
  for (std::size_t t = 0; t < kThreads; ++t) LITMUS(job.heap[t] == 20);
  LITMUS(job.nic.mistakes() == 0);
}

// Each thread asks once and then does nothing that could order its reading by accident.
void one_word_each(SoftNicOptions options) {
  options.result_count = 1;
  NicJob job(options);
  std::atomic<Word> seen{0};
  run_grids(1, 4, kThreads, [&](int) {
    Word word = 0;
    LITMUS(dev::nic::fetch<Mlx5>(job.handle, "fetch", op_of(OpKind::kAmoFetchAdd, 0, 1), &word));
    seen.fetch_or(Word{1} << word, std::memory_order_relaxed);
  });
  LITMUS(seen.load() == (Word{1} << 4 * kThreads) - 1);
}

// A thread knows here that all is complete by what another thread has found.
void known_by_another(SoftNicOptions options) {
  NicJob job(options);
  Word back[16];
  fill(Thread{}, job.heap.data(), 16, 7);
  std::atomic<bool> asked{false};
  run_grids(1, 1, 2, [&](int) {
    if (my_rank() == 0) {
      LITMUS(get(job, copy_of(OpKind::kGet, 0, back, 16), false));
      LITMUS(quiet(job));
      asked.store(true, std::memory_order_relaxed);
    } else {
      while (!asked.load(std::memory_order_relaxed)) sched_yield();
      LITMUS(quiet(job));
    }
    LITMUS(is_filled(back, 16, 7));
  });
}

// A signal is seen behind what it is for.
void signalled(SoftNicOptions options) {
  NicJob job(options);
  run_grids(1, 1, 2, [&](int) {
    Word* const signal = &job.heap[kPart];
    Word* const taken = signal + 1;
    Word source[kPart];
    for (Word i = 1; i <= kRounds; ++i) {
      if (my_rank() == 0) {
        fill(Thread{}, source, kPart, i);
        Op op = copy_of(OpKind::kPut, 0, source, kPart);
        op.notify = i % 2 == 0 ? NotifyOp::kSet : NotifyOp::kAdd;
        op.value = i % 2 == 0 ? i : 1;
        op.signal = kPart * sizeof(Word);
        LITMUS(put(job, op));
        while (__atomic_load_n(taken, __ATOMIC_ACQUIRE) != i) sched_yield();
      } else {
        while (__atomic_load_n(signal, __ATOMIC_ACQUIRE) != i) sched_yield();
        LITMUS(is_filled(job.heap.data(), kPart, i));
        __atomic_store_n(taken, i, __ATOMIC_RELEASE);
      }
    }
  });
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  weft::test::SoftNicOptions options;
  options.seed = begin(argc, argv).mapped.seed;
  for (const bool reads_doorbell : {true, false}) {
    options.reads_doorbell = reads_doorbell;
    small_queue(options);
    room_only(options);
    one_word_each(options);
    known_by_another(options);
    signalled(options);
  }
  return 0;
}
