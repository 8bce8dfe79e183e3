// Every kind of static variable, by every family of operations.
//
//   static_data [library | none | thread-local]
#define _GNU_SOURCE
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

static int wrong;
static int me, npes, next, previous;

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "PE %d, line %d: not so: %s\n", me, __LINE__, #condition); \
      wrong = 1;                                                                 \
    }                                                                            \
  } while (0)

#ifndef STATIC_DATA_NO_RELRO
enum { kProtected = 1 };  // the loader makes constants read-only once it has relocated them
#else
enum { kProtected = 0 };
#endif
enum { kWords = 1000, kLarge = 100 << 20 };

long initialised[kWords] = {1, 2, 3};  // .data, visible to others
static long zeroed[kWords];            // .bss
static char large[kLarge];             // .bss, hardly touched
static int narrow = 5;
static double real = 2.5;
static unsigned char byte_before = 3, byte, byte_after = 4;
static uint64_t signal_word;
static long lock;
static long sources[64], targets[64 * 64];
const long constant[4] = {1, 2, 3, 4};
long* const relocated_constant = initialised;
static __thread long thread_local_word;

static long* in_function(void) {
  static long value = 11;
  return &value;
}

static void check_contents(void) {
  EXPECT(initialised[0] == 1 && initialised[2] == 3 && initialised[3] == 0);
  EXPECT(zeroed[0] == 0 && zeroed[kWords - 1] == 0);
  EXPECT(narrow == 5 && real == 2.5 && *in_function() == 11);
  EXPECT(large[0] == 0 && large[kLarge - 1] == 0);
}

static void check_accessible(void) {
  const int pe = npes - 1;
  long local = 0;
  long* const allocated = malloc(sizeof(long));
  EXPECT(shmem_addr_accessible(initialised, pe) && shmem_addr_accessible(zeroed, pe));
  EXPECT(shmem_addr_accessible(&large[kLarge - 1], pe) && shmem_addr_accessible(in_function(), pe));
  EXPECT(!shmem_addr_accessible(constant, pe));
  EXPECT(!shmem_addr_accessible(&relocated_constant, pe) || !kProtected);
  EXPECT(!shmem_addr_accessible(&thread_local_word, pe));
  EXPECT(!shmem_addr_accessible(&local, pe) && !shmem_addr_accessible(allocated, pe));
  EXPECT(!shmem_addr_accessible((const void*)(uintptr_t)&check_accessible, pe));
  EXPECT(shmem_ptr(zeroed, me) == zeroed);
  EXPECT(shmem_ptr(&local, me) == NULL);
  free(allocated);
}

static void check_transfers(void) {
  long values[100], got[100];
  for (int i = 0; i < 100; ++i) values[i] = 1000 * me + i;
  shmem_barrier_all();
  shmem_long_put(zeroed + 1, values, 100, next);
  shmem_long_iput(zeroed + 200, values, 3, 2, 30, next);
  shmem_int_p(&narrow, 6 + me, next);
  shmem_double_p(&real, 0.5 + me, next);
  shmem_uchar_p(&byte, (unsigned char)me, next);
  shmem_putmem(large + kLarge / 2, values, sizeof(values), next);
  shmem_putmem(large + kLarge - 8, values, 8, next);
  shmem_long_p(in_function(), 12 + me, next);
  shmem_barrier_all();
  for (int i = 0; i < 100; ++i) EXPECT(zeroed[1 + i] == 1000 * previous + i);
  for (int i = 0; i < 30; ++i) EXPECT(zeroed[200 + 3 * i] == 1000 * previous + 2 * i);
  EXPECT(zeroed[0] == 0 && zeroed[101] == 0 && zeroed[201] == 0);
  EXPECT(narrow == 6 + previous && real == 0.5 + previous);
  EXPECT(byte == (unsigned char)previous && byte_before == 3 && byte_after == 4);
  EXPECT(*in_function() == 12 + previous);
  long first;
  memcpy(&first, large + kLarge - 8, 8);
  EXPECT(first == 1000 * previous);
  shmem_getmem(got, large + kLarge / 2, sizeof(got), next);
  EXPECT(memcmp(got, values, sizeof(got)) == 0);
  EXPECT(shmem_long_g(zeroed + 1, next) == values[0]);
  shmem_long_get_nbi(got, zeroed + 1, 100, next);
  shmem_quiet();
  EXPECT(memcmp(got, values, sizeof(got)) == 0);
  shmem_barrier_all();
}

// One step of each way from static memory to the heap and back.
static void check_heap(void) {
  long* const heap = shmem_malloc(8 * sizeof(long));
  zeroed[500] = 7 * me;
  heap[0] = -1;
  shmem_barrier_all();
  shmem_long_put(heap, zeroed + 500, 1, next);
  shmem_barrier_all();
  EXPECT(heap[0] == 7 * previous);
  shmem_long_get(zeroed + 501, heap, 1, next);
  EXPECT(zeroed[501] == 7 * me);
  shmem_barrier_all();
  shmem_free(heap);
}

static void check_signals(void) {
  const long value = 5 + me;
  signal_word = 0;
  shmem_barrier_all();
  shmem_long_put_signal(zeroed + 600, &value, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, next);
  EXPECT(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1) == 1);
  EXPECT(zeroed[600] == 5 + previous);
  shmem_barrier_all();
  shmem_long_p(zeroed + 601, 9, next);
  shmem_quiet();
  shmem_long_wait_until(zeroed + 601, SHMEM_CMP_EQ, 9);
  shmem_barrier_all();
}

static void check_atomics(void) {
  static long count;
  static int other;
  count = 0;
  other = 0;
  shmem_barrier_all();
  for (int i = 0; i < 50; ++i) {
    shmem_long_atomic_inc(&count, 0);
    (void)shmem_long_atomic_fetch_add(&count, 2, 0);
    shmem_int_atomic_add(&other, 1, npes - 1);
  }
  shmem_barrier_all();
  EXPECT(shmem_long_atomic_fetch(&count, 0) == 150L * npes);
  EXPECT(shmem_int_atomic_fetch(&other, npes - 1) == 50 * npes);
  shmem_barrier_all();
  shmem_set_lock(&lock);
  const long seen = shmem_long_g(&count, 0);
  shmem_long_p(&count, seen + 1, 0);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  EXPECT(shmem_long_g(&count, 0) == 151L * npes);
  shmem_barrier_all();
  if (me == 0) EXPECT(shmem_long_atomic_compare_swap(&count, 151L * npes, 1, 0) == 151L * npes);
  shmem_barrier_all();
}

static void check_collectives(void) {
  for (int i = 0; i < 64; ++i) sources[i] = 100 * me + i;
  shmem_barrier_all();
  shmem_long_broadcast(SHMEM_TEAM_WORLD, targets, sources, 64, npes - 1);
  EXPECT(targets[0] == 100 * (npes - 1) && targets[63] == 100 * (npes - 1) + 63);
  shmem_barrier_all();
  shmem_long_fcollect(SHMEM_TEAM_WORLD, targets, sources, 3);
  for (int pe = 0; pe < npes; ++pe) EXPECT(targets[3 * pe + 2] == 100 * pe + 2);
  shmem_barrier_all();
  shmem_long_alltoall(SHMEM_TEAM_WORLD, targets, sources, 1);
  for (int pe = 0; pe < npes; ++pe) EXPECT(targets[pe] == 100 * pe + me);
  shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, targets, sources, 64);
  EXPECT(targets[1] == 100L * npes * (npes - 1) / 2 + npes);
  shmem_barrier_all();
}

static void check_pointers(void) {
  long* const theirs = shmem_ptr(zeroed + 700, next);
  zeroed[700] = 31 * me;
  shmem_barrier_all();
  if (theirs != NULL) EXPECT(*theirs == 31 * next);
  shmem_barrier_all();
}

// Variables of a library that the program names are copied into the program by the linker, unless
// the code was compiled to look for them where they are; then they are the library's.
static void check_library(int shared) {
  long* const hidden = library_hidden();
  EXPECT(hidden[0] == 88 && library_variable == 77);
  EXPECT(shmem_addr_accessible(hidden, npes - 1) == shared);
  if (shmem_addr_accessible(&library_variable, next)) {
    shmem_barrier_all();
    shmem_long_p(&library_variable, 500 + me, next);
    shmem_barrier_all();
    EXPECT(library_sees_variable() == 500 + previous);
  }
  if (!shared) return;
  shmem_barrier_all();
  shmem_long_p(hidden + 999, me, next);
  shmem_barrier_all();
  EXPECT(hidden[999] == previous && hidden[998] == 0);
}

// Data that nobody touches takes no memory.
static void check_untouched(void) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t)large + page - 1) / page * page;
  const size_t pages = kLarge / page - 1;
  unsigned char* const resident = malloc(pages);
  size_t there = 0;
  EXPECT(mincore((void*)begin, pages * page, resident) == 0);
  for (size_t i = 0; i < pages; ++i) there += resident[i] & 1;
  EXPECT(there < pages / 4);
  free(resident);
}

static void check_fork(void) {
  zeroed[800] = 1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    const int well = zeroed[800] == 1 && initialised[1] == 2;
    zeroed[800] = 2;
    _exit(well ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT(status == 0 && zeroed[800] == 1);
}

static void start(void) {
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  next = (me + 1) % npes;
  previous = (me + npes - 1) % npes;
}

static void check_all(void) {
  check_accessible();
  check_untouched();
  check_transfers();
  check_heap();
  check_signals();
  check_atomics();
  check_collectives();
  check_pointers();
  check_fork();
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  start();
  check_contents();
  if (strcmp(mode, "none") == 0) {
    EXPECT(!shmem_addr_accessible(zeroed, npes - 1) && !shmem_addr_accessible(&narrow, 0));
  } else if (strcmp(mode, "thread-local") == 0) {
    shmem_long_p(&thread_local_word, 1, next);
  } else {
    check_all();
    check_library(strcmp(mode, "library") == 0);
  }
  shmem_barrier_all();
  zeroed[900] = 900 + me;
  shmem_finalize();
  EXPECT(zeroed[900] == 900 + me);  // my own again
  printf("PE %d: done\n", me);      // the C library's variables that were copied here work, too
  return wrong;
}
