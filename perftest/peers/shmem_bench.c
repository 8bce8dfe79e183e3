// One benchmark program for every OpenSHMEM: plain C, calls of OpenSHMEM 1.4 only, so that the same
// source is measured with Weft and with others (compare.py). PE 0 prints a line per row:
//
//   name,bytes,value,unit
//
// Each row has fresh buffers with fresh contents, is timed several times and yields the median, and
// its data is checked afterwards. Pairwise rows run between PE 0 and PE 1 while the others sleep.
// Collectives are timed call by call with a barrier in between, as the OSU micro-benchmarks do; the
// time is the mean over PEs. With more PEs than cores the barrier is timed, too: there the
// scheduler decides whether a PE waits in the call or in the barrier before it, so only both
// together are what a program pays. The time of reading the clock is taken off.
//
//   shmem_bench [--quick] [--pin] [--attend] [--only PREFIX]
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kWindow = 32, kMaxRepeats = 9 };

typedef struct {
  char *src, *dst;  // symmetric; room for a block per PE
  size_t bytes;     // of a block
  long iters;
} Run;

static int me, npes, repeats;
static int crowded;        // more PEs than cores
static int attends;        // who only looks on does so in the library, which may move nothing else
static int one_core;       // for all PEs
static double clock_cost;  // seconds between two readings with nothing in between
static long seed;          // of the contents; another one for each row
static long* word;         // symmetric: what atomics work on
static long* turn;         // symmetric: ping-pong
static long turns;    // that have been taken; not what `turn` holds: the other side may be ahead
static long* done;    // symmetric: the row's pair has finished
static long* sync_a;  // symmetric: pSync
static long* sync_b;
static long* work;     // symmetric: pWrk
static double* times;  // symmetric: mine, then the sum

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
  if (one_core) sched_yield();
}

static void time_the_clock(void) {
  enum { kReadings = 1000 };
  clock_cost = 1;
  for (int i = 0; i < kReadings; ++i) {
    const double start = now(), cost = now() - start;
    if (cost < clock_cost) clock_cost = cost;
  }
}

static void* need(void* memory) {
  if (memory == NULL) {
    fprintf(stderr, "shmem_bench: PE %d: no room in the symmetric heap\n", me);
    shmem_global_exit(2);
  }
  return memory;
}

// --- contents ------------------------------------------------------------------------------------

static long value_of(int pe, size_t index) {
  const uint64_t mixed =
      ((uint64_t)seed << 40) + ((uint64_t)pe << 32) + (uint64_t)index * 0x9e3779b97f4a7c15u;
  return (long)(mixed ^ (mixed >> 29));
}

static void fill(void* memory, int pe, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) ((long*)memory)[i] = value_of(pe, first + i);
}

static void check(const char* name, size_t bytes, const void* memory, int pe, size_t first,
                  size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (((const long*)memory)[i] == value_of(pe, first + i)) continue;
    fprintf(stderr, "shmem_bench: %s of %zu bytes: PE %d has wrong data in word %zu\n", name, bytes,
            me, i);
    shmem_global_exit(1);
  }
}

static void check_word(const char* name, long seen, long wanted) {
  if (seen == wanted) return;
  fprintf(stderr, "shmem_bench: %s: PE %d has %ld, wanted %ld\n", name, me, seen, wanted);
  shmem_global_exit(1);
}

// --- between two: PE 0 calls, seconds for all iterations -----------------------------------------

static double time_memcpy(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) {
    memcpy(r.dst, r.src, r.bytes);
    __asm__ volatile("" : : "r"(r.dst) : "memory");  // each copy is made
  }
  return now() - start;
}
static double time_put(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) {
    shmem_putmem(r.dst, r.src, r.bytes, 1);
    shmem_quiet();
  }
  return now() - start;
}
static double time_get(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) shmem_getmem(r.dst, r.src, r.bytes, 1);
  return now() - start;
}
static double time_put_window(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; i += kWindow) {
    for (int k = 0; k < kWindow; ++k) shmem_putmem_nbi(r.dst, r.src, r.bytes, 1);
    shmem_quiet();
  }
  return now() - start;
}
static double time_get_window(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; i += kWindow) {
    for (int k = 0; k < kWindow; ++k) shmem_getmem_nbi(r.dst, r.src, r.bytes, 1);
    shmem_quiet();
  }
  return now() - start;
}
static double time_p(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) {
    shmem_long_p((long*)r.dst, *(long*)r.src, 1);
    shmem_quiet();
  }
  return now() - start;
}
static double time_g(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) *(volatile long*)r.dst = shmem_long_g((long*)r.src, 1);
  return now() - start;
}
// Both call; a turn is one way.
static double time_ping_pong(Run r) {
  const int peer = 1 - me;
  const long last = turns + r.iters / 2;
  const double start = now();
  while (++turns <= last) {
    if (me == 0) shmem_long_p(turn, turns, peer);
    shmem_long_wait_until(turn, SHMEM_CMP_GE, turns);
    if (me == 1) shmem_long_p(turn, turns, peer);
  }
  return now() - start;
}

// The time that the hardware takes for it: one store, which the other side looks for.
static double time_bare_ping_pong(Run r) {
  long* const theirs = shmem_ptr(turn, 1 - me);
  if (theirs == NULL) return NAN;
  const long last = turns + r.iters / 2;
  const double start = now();
  while (++turns <= last) {
    if (me == 0) __atomic_store_n(theirs, turns, __ATOMIC_RELEASE);
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) < turns) relax();
    if (me == 1) __atomic_store_n(theirs, turns, __ATOMIC_RELEASE);
  }
  return now() - start;
}

static double time_add(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) {
    shmem_long_atomic_add(word, 1, 1);
    shmem_quiet();
  }
  return now() - start;
}
static double time_fetch_add(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) (void)shmem_long_atomic_fetch_add(word, 1, 1);
  return now() - start;
}
static double time_compare_swap(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) (void)shmem_long_atomic_compare_swap(word, i, i + 1, 1);
  return now() - start;
}
static double time_swap(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) (void)shmem_long_atomic_swap(word, i + 1, 1);
  return now() - start;
}
static double time_fetch(Run r) {
  long sum = 0;
  const double start = now();
  for (long i = 0; i < r.iters; ++i) sum += shmem_long_atomic_fetch(word, 1);
  const double stop = now();
  check_word("fetch", sum, 0);
  return stop - start;
}
static double time_set(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) {
    shmem_long_atomic_set(word, i + 1, 1);
    shmem_quiet();
  }
  return now() - start;
}

// --- collectives: all call, seconds for all iterations
// --------------------------------------------

static double time_barrier(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) shmem_barrier_all();
  return now() - start;
}
static double time_sync(Run r) {
  const double start = now();
  for (long i = 0; i < r.iters; ++i) shmem_sync_all();
  return now() - start;
}

#define TIME_CALLS(call)                         \
  double all = 0;                                \
  for (long i = 0; i < r.iters; ++i) {           \
    long* const psync = i % 2 ? sync_b : sync_a; \
    const double start = now();                  \
    call;                                        \
    if (crowded) shmem_barrier_all();            \
    all += now() - start;                        \
    if (!crowded) shmem_barrier_all();           \
  }                                              \
  return all - (double)r.iters * clock_cost

static double time_broadcast(Run r) {
  TIME_CALLS(shmem_broadcast64(r.dst, r.src, r.bytes / 8, 0, 0, 0, npes, psync));
}
static double time_reduce(Run r) {
  TIME_CALLS(shmem_long_sum_to_all((long*)r.dst, (long*)r.src, (int)(r.bytes / 8), 0, 0, npes, work,
                                   psync));
}
static double time_fcollect(Run r) {
  TIME_CALLS(shmem_fcollect64(r.dst, r.src, r.bytes / 8, 0, 0, npes, psync));
}
static double time_collect(Run r) {
  TIME_CALLS(shmem_collect64(r.dst, r.src, r.bytes / 8, 0, 0, npes, psync));
}
static double time_alltoall(Run r) {
  TIME_CALLS(shmem_alltoall64(r.dst, r.src, r.bytes / 8, 0, 0, npes, psync));
}

// --- rows ----------------------------------------------------------------------------------------

typedef enum { kPut, kGet, kCopy, kWord, kNothing, kRoot, kSum, kBlocks, kMine } Check;
typedef enum { kAlone, kPair, kAll } Who;  // PE 0; PEs 0 and 1; every PE
typedef enum { kMicroseconds, kMegabytes, kMillions } Unit;

typedef struct {
  const char* name;
  double (*time)(Run);
  Who who;
  Check check;
  Unit unit;
  size_t sizes[16];  // ends with 0
} Row;

#define SMALL_TO_64K 8, 64, 256, 1024, 4096, 16384, 65536, 0
#define WINDOWS 8, 256, 4096, 65536, 262144, 1048576, 4194304, 0
#define COLLECTIVE 8, 64, 256, 1024, 4096, 65536, 0

static const Row rows[] = {
    {"memcpy", time_memcpy, kAlone, kCopy, kMicroseconds, {SMALL_TO_64K}},
    {"put", time_put, kAlone, kPut, kMicroseconds, {SMALL_TO_64K}},
    {"get", time_get, kAlone, kGet, kMicroseconds, {SMALL_TO_64K}},
    {"memcpy_bw", time_memcpy, kAlone, kCopy, kMegabytes, {WINDOWS}},
    {"put_bw", time_put_window, kAlone, kPut, kMegabytes, {WINDOWS}},
    {"get_bw", time_get_window, kAlone, kGet, kMegabytes, {WINDOWS}},
    {"put_rate", time_put_window, kAlone, kPut, kMillions, {8, 0}},
    {"p", time_p, kAlone, kPut, kMicroseconds, {8, 0}},
    {"g", time_g, kAlone, kGet, kMicroseconds, {8, 0}},
    {"bare_pingpong", time_bare_ping_pong, kPair, kNothing, kMicroseconds, {8, 0}},
    {"put_pingpong", time_ping_pong, kPair, kNothing, kMicroseconds, {8, 0}},
    {"add", time_add, kAlone, kWord, kMicroseconds, {8, 0}},
    {"fetch_add", time_fetch_add, kAlone, kWord, kMicroseconds, {8, 0}},
    {"compare_swap", time_compare_swap, kAlone, kWord, kMicroseconds, {8, 0}},
    {"swap", time_swap, kAlone, kWord, kMicroseconds, {8, 0}},
    {"fetch", time_fetch, kAlone, kNothing, kMicroseconds, {8, 0}},
    {"set", time_set, kAlone, kWord, kMicroseconds, {8, 0}},
    {"barrier_all", time_barrier, kAll, kNothing, kMicroseconds, {8, 0}},
    {"sync_all", time_sync, kAll, kNothing, kMicroseconds, {8, 0}},
    {"broadcast", time_broadcast, kAll, kRoot, kMicroseconds, {COLLECTIVE}},
    {"sum_reduce", time_reduce, kAll, kSum, kMicroseconds, {COLLECTIVE}},
    {"fcollect", time_fcollect, kAll, kBlocks, kMicroseconds, {COLLECTIVE}},
    {"collect", time_collect, kAll, kBlocks, kMicroseconds, {COLLECTIVE}},
    {"alltoall", time_alltoall, kAll, kMine, kMicroseconds, {COLLECTIVE}},
};

static void check_sum(const Row* row, Run r) {
  for (size_t i = 0; i < r.bytes / 8; ++i) {
    uint64_t sum = 0;
    for (int pe = 0; pe < npes; ++pe) sum += (uint64_t)value_of(pe, i);
    check_word(row->name, ((long*)r.dst)[i], (long)sum);
  }
}

// After the last repeat, on every PE.
static void check_data(const Row* row, Run r) {
  const size_t count = r.bytes / 8;
  switch (row->check) {
    case kNothing: return;
    case kWord:
      if (me == 1) check_word(row->name, *word, r.iters);
      return;
    case kPut:
      if (me == 1) check(row->name, r.bytes, r.dst, 0, 0, count);
      return;
    case kGet:
      if (me == 0) check(row->name, r.bytes, r.dst, 1, 0, count);
      return;
    case kCopy:
      if (me == 0) check(row->name, r.bytes, r.dst, 0, 0, count);
      return;
    case kRoot:  // the root keeps its own
      if (me != 0) check(row->name, r.bytes, r.dst, 0, 0, count);
      return;
    case kSum: check_sum(row, r); return;
    case kBlocks:
      for (int pe = 0; pe < npes; ++pe)
        check(row->name, r.bytes, r.dst + (size_t)pe * r.bytes, pe, 0, count);
      return;
    case kMine:
      for (int pe = 0; pe < npes; ++pe)
        check(row->name, r.bytes, r.dst + (size_t)pe * r.bytes, pe, (size_t)me * count, count);
      return;
  }
}

static int takes_part(Who who) { return who == kAll || me == 0 || (who == kPair && me == 1); }

// A PE that only looks on sleeps, so that it is not measured. The fetch lets a library make
// progress.
static void look_on(void) {
  while (shmem_long_atomic_fetch(done, me) == 0) usleep(200);
}

// One repeat: the seconds of an iteration, on PE 0.
static double repeat(const Row* row, Run r) {
  *word = 0;
  *done = 0;
  shmem_barrier_all();
  double seconds = 0;
  if (takes_part(row->who)) {
    seconds = row->time(r) / (double)r.iters;
    if (row->who != kAll && me == 0)
      for (int pe = 1; pe < npes; ++pe) shmem_long_atomic_set(done, 1, pe);
  }
  if (row->who != kAll && me != 0 && !attends) look_on();
  shmem_barrier_all();
  if (row->who == kAll) {
    times[0] = seconds;
    shmem_double_sum_to_all(times + 1, times, 1, 0, 0, npes, (double*)work, sync_a);
    shmem_barrier_all();
    seconds = times[1] / npes;
  }
  return seconds;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print(const Row* row, size_t bytes, double seconds) {
  static const char* const units[] = {"us", "MB/s", "M/s"};
  double value = seconds * 1e6;
  if (row->unit == kMegabytes) value = (double)bytes / seconds * 1e-6;
  if (row->unit == kMillions) value = 1e-6 / seconds;
  printf("%s,%zu,%.5g,%s\n", row->name, bytes, value, units[row->unit]);
  fflush(stdout);
}

// Multiples of the window.
static long iterations(const Row* row, size_t bytes, int quick) {
  long iters = bytes <= 4096 ? 3200 : bytes <= 65536 ? 640 : 64;
  if (row->who == kAll) iters = bytes <= 4096 ? 640 : 128;
  return quick ? (iters < 320 ? kWindow : iters / 10 / kWindow * kWindow) : iters;
}

static void measure(const Row* row, size_t bytes, int quick) {
  const size_t room = bytes * (size_t)npes;
  Run r = {need(shmem_malloc(room)), need(shmem_malloc(room)), bytes, 0};
  ++seed;
  fill(r.src, me, 0, room / 8);
  memset(r.dst, 0, room);
  r.iters = kWindow;
  repeat(row, r);  // warms up
  r.iters = iterations(row, bytes, quick);
  if (r.iters < kWindow) r.iters = kWindow;
  double seconds[kMaxRepeats];
  for (int i = 0; i < repeats; ++i) seconds[i] = repeat(row, r);
  check_data(row, r);
  qsort(seconds, (size_t)repeats, sizeof(double), by_value);
  if (me == 0) print(row, bytes, seconds[repeats / 2]);
  shmem_barrier_all();
  shmem_free(r.dst);
  shmem_free(r.src);
}

// One core for each PE, if there are as many and `pins`.
static void place(int pins) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  crowded = CPU_COUNT(&allowed) < npes;
  one_core = CPU_COUNT(&allowed) == 1;
  if (crowded || !pins) return;
  int left = me;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- != 0) continue;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    if (sched_setaffinity(0, sizeof(mine), &mine) != 0) perror("shmem_bench: pinning");
    return;
  }
}

// The largest of the arrays that collectives need to work with.
static size_t sync_words(void) {
  size_t words = SHMEM_BARRIER_SYNC_SIZE;
  if (words < SHMEM_BCAST_SYNC_SIZE) words = SHMEM_BCAST_SYNC_SIZE;
  if (words < SHMEM_REDUCE_SYNC_SIZE) words = SHMEM_REDUCE_SYNC_SIZE;
  if (words < SHMEM_COLLECT_SYNC_SIZE) words = SHMEM_COLLECT_SYNC_SIZE;
  if (words < SHMEM_ALLTOALL_SYNC_SIZE) words = SHMEM_ALLTOALL_SYNC_SIZE;
  return words;
}

static void allocate_words(void) {
  const size_t words = sync_words();
  size_t scratch = 65536 / 8 / 2 + 1;
  if (scratch < SHMEM_REDUCE_MIN_WRKDATA_SIZE) scratch = SHMEM_REDUCE_MIN_WRKDATA_SIZE;
  // On cache lines of their own.
  word = need(shmem_align(64, 64));
  turn = need(shmem_align(64, 64));
  done = need(shmem_align(64, 64));
  times = need(shmem_align(64, 64));
  sync_a = need(shmem_align(64, words * sizeof(long)));
  sync_b = need(shmem_align(64, words * sizeof(long)));
  work = need(shmem_align(64, scratch * sizeof(long)));
  *turn = 0;
  for (size_t i = 0; i < words; ++i) sync_a[i] = sync_b[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  int quick = 0, pins = 0;
  const char* only = "";
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--quick") == 0) {
      quick = 1;
    } else if (strcmp(argv[i], "--pin") == 0) {
      pins = 1;
    } else if (strcmp(argv[i], "--attend") == 0) {
      attends = 1;
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      fprintf(stderr, "usage: shmem_bench [--quick] [--pin] [--attend] [--only PREFIX]\n");
      return 2;
    }
  }
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  repeats = quick ? 3 : kMaxRepeats;
  seed = (long)time(NULL) & 0xfffff;
  place(pins);
  allocate_words();
  time_the_clock();
  // One seed for all, PE 0's.
  *word = seed;
  shmem_barrier_all();
  seed = shmem_long_g(word, 0);
  shmem_barrier_all();
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    if (strncmp(rows[i].name, only, strlen(only)) != 0) continue;
    if (npes < 2 && rows[i].who != kAll) continue;
    for (const size_t* bytes = rows[i].sizes; *bytes != 0; ++bytes)
      measure(&rows[i], *bytes, quick);
  }
  shmem_finalize();
  return 0;
}
