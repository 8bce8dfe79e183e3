// The functions of weft/device/bitcode.h, on the device API. Compiled for GPUs to LLVM bitcode, and
// for the CPU target by the tests.

// A reduction calls its operator by address, and of kernels that reach such a call Triton 3.6 finds
// no registers on AMD's GPUs.
#define WEFT_DEVICE_WITHOUT_REDUCTIONS 1
#if defined(__CUDACC__) || defined(__HIP__)
#define WEFT_DEVICE_SYNC_BROADCAST_FCOLLECT 1
#endif
#include <weft/device/collective.hpp>
#include <weft/device/context.hpp>

#include <weft/dev/atomic.hpp>
#include <weft/dev/collective.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>

#if !WEFT_TARGET_CPU
#define WEFT_BITCODE_FUNCTION __device__ __attribute__((always_inline))
#endif
#include <weft/device/bitcode.h>

// The host that loads the module stores a context here. It lies in constant memory, whose cache a
// wait does not empty, and is constant for the compiler, which moves its loads out of loops. Behind
// a wait a context in global memory takes a load that misses the L1 cache.
extern "C" {
#if WEFT_TARGET_CPU
weft::DeviceContext weft_current_device_context;
#else
extern __constant__ const weft::DeviceContext weft_current_device_context;
__constant__ const weft::DeviceContext weft_current_device_context{};
#endif
}

// Each function of the table calls the template of its name here.
namespace weft::bitcode {
namespace {

using Address = weft_address;
using std::int32_t;
using std::uint64_t;

static_assert(WEFT_EQ == static_cast<int>(Cmp::kEq) && WEFT_NE == static_cast<int>(Cmp::kNe));
static_assert(WEFT_GT == static_cast<int>(Cmp::kGt) && WEFT_GE == static_cast<int>(Cmp::kGe));
static_assert(WEFT_LT == static_cast<int>(Cmp::kLt) && WEFT_LE == static_cast<int>(Cmp::kLe));

template <class T>
WEFT_DEVICE T* at(Address address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

// Parts of the copy that a call does not use are not read.
WEFT_DEVICE dev::Context open(Address context) {
  return dev::Context(*at<const DeviceContext>(context));
}

WEFT_DEVICE Team team_at(const dev::Context& ctx, Address team) {
  if (team != 0) return *at<const Team>(team);
  Team world;
  world.id = kWorldId;
  world.size = ctx.npes();
  world.rank = ctx.pe();
  return world;
}

// The first thread of the scope acts, after what the others did before the call.
template <class Scope, class Act>
WEFT_DEVICE void by_leader(Scope scope, Act act) {
  scope.sync();
  if (scope.rank() == 0) act();
}

// The same, and all get its answer.
template <class Result, class Scope, class Ask>
WEFT_DEVICE Result for_all(Scope scope, Ask ask) {
  Result answer{};
  by_leader(scope, [&] { answer = ask(); });
  return scope.broadcast(answer);
}

// --- put and get ---------------------------------------------------------------------------------

template <class Result, class Scope>
WEFT_DEVICE Result put(Scope scope, Address context, Address dst, Address src, uint64_t bytes,
                       int32_t pe) {
  open(context).put(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result put_nbi(Scope scope, Address context, Address dst, Address src, uint64_t bytes,
                           int32_t pe) {
  open(context).put_nbi(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result get(Scope scope, Address context, Address dst, Address src, uint64_t bytes,
                       int32_t pe) {
  open(context).get(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result get_nbi(Scope scope, Address context, Address dst, Address src, uint64_t bytes,
                           int32_t pe) {
  open(context).get_nbi(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result put_signal_set(Scope scope, Address context, Address dst, Address src,
                                  uint64_t bytes, Address signal, uint64_t value, int32_t pe) {
  open(context).put(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe,
                    set(at<uint64_t>(signal), value));
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result put_signal_add(Scope scope, Address context, Address dst, Address src,
                                  uint64_t bytes, Address signal, uint64_t value, int32_t pe) {
  open(context).put(scope, at<std::byte>(dst), at<const std::byte>(src), bytes, pe,
                    add(at<uint64_t>(signal), value));
  return 0;
}

// --- signals, waits, order, collectives ----------------------------------------------------------

template <class Result, class Scope>
WEFT_DEVICE Result signal_set(Scope scope, Address context, Address signal, uint64_t value,
                              int32_t pe) {
  by_leader(scope, [=] { open(context).signal(set(at<uint64_t>(signal), value), pe); });
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result signal_add(Scope scope, Address context, Address signal, uint64_t value,
                              int32_t pe) {
  by_leader(scope, [=] { open(context).signal(add(at<uint64_t>(signal), value), pe); });
  return 0;
}

template <class Result, class Scope, class T>
WEFT_DEVICE Result wait_until(Scope scope, Address context, Address word, int32_t cmp, T value) {
  return open(context).wait_until(scope, at<const T>(word), static_cast<Cmp>(cmp), value);
}

template <class Result, class Scope, class T>
WEFT_DEVICE Result wait_until_all(Scope scope, Address context, Address words, uint64_t count,
                                  int32_t cmp, T value) {
  return open(context).wait_until_all(scope, at<const T>(words), count, nullptr,
                                      static_cast<Cmp>(cmp), value);
}

template <class Result, class Scope, class T>
WEFT_DEVICE Result test(Scope scope, Address context, Address word, int32_t cmp, T value) {
  return for_all<Result>(
      scope, [=] { return open(context).test(at<const T>(word), static_cast<Cmp>(cmp), value); });
}

template <class Result, class Scope>
WEFT_DEVICE Result fence(Scope scope, Address context) {
  open(context).fence(scope);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result quiet(Scope scope, Address context) {
  open(context).quiet(scope);
  return 0;
}

template <class Result, class Scope>
WEFT_DEVICE Result sync(Scope scope, Address context, Address team) {
  const dev::Context& ctx = open(context);
  return dev::sync(ctx, scope, team_at(ctx, team));
}

template <class Result, class Scope>
WEFT_DEVICE Result barrier(Scope scope, Address context, Address team) {
  const dev::Context& ctx = open(context);
  return dev::barrier(ctx, scope, team_at(ctx, team));
}

template <class Result, class Scope>
WEFT_DEVICE Result broadcast(Scope scope, Address context, Address team, Address dst, Address src,
                             uint64_t bytes, int32_t root) {
  const dev::Context& ctx = open(context);
  return dev::broadcast(ctx, scope, team_at(ctx, team), at<std::byte>(dst),
                        at<const std::byte>(src), bytes, root);
}

template <class Result, class Scope>
WEFT_DEVICE Result fcollect(Scope scope, Address context, Address team, Address dst, Address src,
                            uint64_t bytes) {
  const dev::Context& ctx = open(context);
  return dev::fcollect(ctx, scope, team_at(ctx, team), at<std::byte>(dst), at<const std::byte>(src),
                       bytes);
}

// --- atomics -------------------------------------------------------------------------------------

template <class Result, class Scope, class T>
WEFT_DEVICE Result atomic_set(Scope scope, Address context, Address word, T value, int32_t pe) {
  by_leader(scope, [=] { open(context).atomic_set(at<T>(word), value, pe); });
  return 0;
}

template <class Result, class Scope, class T>
WEFT_DEVICE Result atomic_add(Scope scope, Address context, Address word, T value, int32_t pe) {
  by_leader(scope, [=] { open(context).atomic_add(at<T>(word), value, pe); });
  return 0;
}

template <class T, class Scope>
WEFT_DEVICE T atomic_fetch(Scope scope, Address context, Address word, int32_t pe) {
  return for_all<T>(scope, [=] { return open(context).atomic_fetch(at<const T>(word), pe); });
}

template <class T, class Scope>
WEFT_DEVICE T atomic_fetch_add(Scope scope, Address context, Address word, T value, int32_t pe) {
  return for_all<T>(scope, [=] { return open(context).atomic_fetch_add(at<T>(word), value, pe); });
}

template <class T, class Scope>
WEFT_DEVICE T atomic_swap(Scope scope, Address context, Address word, T value, int32_t pe) {
  return for_all<T>(scope, [=] { return open(context).atomic_swap(at<T>(word), value, pe); });
}

template <class T, class Scope>
WEFT_DEVICE T atomic_compare_swap(Scope scope, Address context, Address word, T compare, T value,
                                  int32_t pe) {
  return for_all<T>(
      scope, [=] { return open(context).atomic_compare_swap(at<T>(word), compare, value, pe); });
}

// --- what concerns no scope ----------------------------------------------------------------------

template <class Result, class Scope>
WEFT_DEVICE Result my_pe(Scope, Address context) {
  return open(context).pe();
}

template <class Result, class Scope>
WEFT_DEVICE Result n_pes(Scope, Address context) {
  return open(context).npes();
}

template <class Result, class Scope>
WEFT_DEVICE Result team_my_pe(Scope, Address context, Address team) {
  return team_at(open(context), team).rank;
}

template <class Result, class Scope>
WEFT_DEVICE Result team_n_pes(Scope, Address context, Address team) {
  return team_at(open(context), team).size;
}

template <class Result, class Scope>
WEFT_DEVICE Result team_translate_pe(Scope, Address context, Address from, int32_t rank,
                                     Address to) {
  const dev::Context& ctx = open(context);
  return translate(team_at(ctx, from), rank, team_at(ctx, to));
}

template <class Result, class Scope>
WEFT_DEVICE Result current_context(Scope, int32_t) {
  return reinterpret_cast<std::uintptr_t>(&weft_current_device_context);
}

template <class Result, class Scope>
WEFT_DEVICE Result thread_rank(Scope, int32_t) {
  return dev::Block{}.rank();
}

template <class Result, class Scope>
WEFT_DEVICE Result ptr(Scope, Address context, Address symmetric, int32_t pe) {
  return reinterpret_cast<std::uintptr_t>(open(context).ptr(at<std::byte>(symmetric), pe));
}

// The scopes, by their names in the table.
struct As {};
using As_thread = dev::Thread;
using As_warp = dev::Warp;
using As_block = dev::Block;

// `arguments` come in parentheses.
#define WEFT_WITHOUT_PARENTHESES(...) __VA_ARGS__

}  // namespace
}  // namespace weft::bitcode

#define WEFT_BITCODE(result, name, type, scope, parameters, arguments)          \
  extern "C" WEFT_BITCODE_FUNCTION result weft_##name##type##scope parameters { \
    return weft::bitcode::name<result>(weft::bitcode::As##scope{},              \
                                       WEFT_WITHOUT_PARENTHESES arguments);     \
  }
#include <weft/tables/bitcode.def.h>
