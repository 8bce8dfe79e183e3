// The census: every routine of OpenSHMEM is called with fresh random inputs and poisoned outputs,
// and compared with a model; where ops are recorded, also with what reached the transport.
//
// A row of the list of routines (openshmem_names.py) gives family, type and name. The family's
// template in the .cpp below turns the routine into a call on bytes, and its check is compiled once
// for all types.
#pragma once

#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <weft/dev/op.hpp>

#include "tests/compat/census/element.hpp"

namespace census {

struct Subject {
  const char* name;
  Element element;
};

// The row's routine, with or without a context as its first argument.
template <class F>
F plain(F routine) {
  return routine;
}
shmem_ctx_t context();
template <class R, class... A>
auto on_context(R (*routine)(shmem_ctx_t, A...)) {
  return [routine](A... arguments) { return routine(context(), arguments...); };
}

// --- the job ------------------------------------------------------------------------------------
inline constexpr std::size_t kArena = 1 << 16;  // bytes
inline constexpr std::size_t kCounts[] = {0, 1, 7, 61};

int me();
int npes();
std::byte* target();  // kArena bytes, symmetric
std::byte* source();  // kArena bytes, symmetric
std::byte* mine();    // kArena bytes, not symmetric

void start(std::uint64_t seed);
int finish();  // the exit status

// A new round: every PE's peer is another one, itself now and then; arenas are poisoned, and all
// PEs have done so.
void begin();
int peer();                    // whom I write to and read from
int writer();                  // whose peer I am
std::mt19937_64 data(int pe);  // the same numbers on every PE, others in every round
std::uint64_t round();
void quiet();  // both contexts
void fence();

inline constexpr std::byte kPoison{0xa5};
void poison(void* bytes, std::size_t count);
bool is_poison(const void* bytes, std::size_t count);

// --- findings -----------------------------------------------------------------------------------
void fail(const Subject& subject, const std::string& what);
// `count` elements are what they should be, and the one behind them is untouched.
void expect_elements(const Subject& subject, const void* seen, const void* wanted,
                     std::size_t count, const std::string& where);
void expect(const Subject& subject, bool holds, const std::string& what);

// --- what reached the transport -----------------------------------------------------------------
// Empty unless ops are recorded: then what was posted since the last call of it.
bool records();
std::vector<weft::Op> take_ops();
extern std::vector<weft::Op> (*take_recorded)();  // set by recorder.cpp where it is linked
// While it lives and ops are recorded, none is delivered: a call that waits for its own cannot
// return, and what it wants to fetch stays as it is.
class Undelivered {
 public:
  explicit Undelivered(bool wanted);
  ~Undelivered();
  Undelivered(const Undelivered&) = delete;
  Undelivered& operator=(const Undelivered&) = delete;

 private:
  const bool held_;
};
extern void (*hold_delivery)(bool hold);  // as take_recorded
// One kind of op to my peer, `bytes` in all.
void expect_moved(const Subject& subject, weft::OpKind kind, std::size_t bytes);

// --- the families, one .cpp each ----------------------------------------------------------------
void check_rma();
void check_atomics();
void check_signals();
void check_collectives();
void check_waits();
void check_plain();

}  // namespace census
