// The kernels of libweft, for GPUs and for host threads: one struct each, a kernel's parameter.
// Compiled by the host compiler (kernel_list.cpp) and, where there is one, by a GPU's
// (gpu_code.cpp).
//
// Kernels that say so are grids; all others run as one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/collective.hpp>
#include <weft/device/kernel.hpp>
#include <weft/wait.hpp>

#include "host/kernel/any_fold.hpp"
#include "host/kernel/move_share.hpp"
#include "host/kernel/scan.hpp"
#include "host/kernel/share.hpp"
#include "host/kernel/spread.hpp"
#include "host/kernel/strided.hpp"

namespace weft::kernel {

// Work that a stream has behind an operation begins when that is complete, so one that went by
// the ring is waited for.
template <class Scope>
WEFT_DEVICE void complete(const DeviceContext& handle, Scope scope, int pe) {
  if (dev::is_by_ring(handle, dev::heap_of(handle, pe))) dev::Context(handle).quiet(scope);
}

// Bytes to a peer, then the notify.
struct PutKernel {
  DeviceContext handle;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  std::int32_t pe;
  Notify notify;
  WEFT_DEVICE void operator()() const {
    dev::Context(handle).put(dev::Block{}, dst, src, bytes, pe, notify);
    complete(handle, dev::Block{}, pe);
  }
};

struct GetKernel {
  DeviceContext handle;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  std::int32_t pe;
  WEFT_DEVICE void operator()() const {
    dev::Context(handle).get(dev::Block{}, dst, src, bytes, pe);
  }
};

struct QuietKernel {
  DeviceContext handle;
  WEFT_DEVICE void operator()() const { dev::Context(handle).quiet(dev::Block{}); }
};

// One thread; the old value's bits go to `result` if that is not null.
struct AmoKernel {
  DeviceContext handle;
  Amo amo;
  std::uint8_t width;
  std::int32_t pe;
  void* word;
  std::uint64_t value, compare;
  std::uint64_t* result;

  template <class T>
  WEFT_DEVICE T apply() const {
    const dev::Context ctx(handle);
    T* const there = static_cast<T*>(word);
    const auto given = static_cast<T>(value);
    switch (amo) {
      case Amo::kSet: return ctx.atomic_set(there, given, pe), T{};
      case Amo::kAdd: return ctx.atomic_add(there, given, pe), T{};
      case Amo::kAnd: return ctx.atomic_and(there, given, pe), T{};
      case Amo::kOr: return ctx.atomic_or(there, given, pe), T{};
      case Amo::kXor: return ctx.atomic_xor(there, given, pe), T{};
      case Amo::kFetch: return ctx.atomic_fetch(there, pe);
      case Amo::kSwap: return ctx.atomic_swap(there, given, pe);
      case Amo::kCompareSwap:
        return ctx.atomic_compare_swap(there, static_cast<T>(compare), given, pe);
      case Amo::kFetchAdd: return ctx.atomic_fetch_add(there, given, pe);
      case Amo::kFetchAnd: return ctx.atomic_fetch_and(there, given, pe);
      case Amo::kFetchOr: return ctx.atomic_fetch_or(there, given, pe);
      case Amo::kFetchXor: return ctx.atomic_fetch_xor(there, given, pe);
    }
    return T{};
  }
  // The fence: who sees the new value sees what copies, or a NIC, had brought before the kernel.
  WEFT_DEVICE void operator()() const {
    dev::platform::fence<dev::Reach::kSystem>();
    const std::uint64_t old = width == 8 ? apply<std::uint64_t>() : apply<std::uint32_t>();
    if (result != nullptr)
      *result = old;
    else
      complete(handle, dev::Thread{}, pe);
  }
};

// Until all words hold; the arrays lie where kernels reach them.
struct WaitKernel {
  DeviceContext handle;
  const void* words;
  const void* values;  // null: `value` for all
  const int* status;
  std::size_t count;
  std::uint64_t value;  // its low bytes
  WaitArgs::Type type;
  std::uint8_t width;
  Cmp cmp;

  template <class T>
  WEFT_DEVICE void wait() const {
    const dev::Context ctx(handle);
    const auto* const mine = static_cast<const T*>(words);
    if (values != nullptr) {
      ctx.wait_until_all_vector(dev::Thread{}, mine, count, status, cmp,
                                static_cast<const T*>(values));
      return;
    }
    T wanted;
    memcpy(&wanted, &value, sizeof(T));
    ctx.wait_until_all(dev::Thread{}, mine, count, status, cmp, wanted);
  }
  WEFT_DEVICE void operator()() const {
    using Type = WaitArgs::Type;
    if (type == Type::kFloat) return width == 8 ? wait<double>() : wait<float>();
    const bool is_signed = type == Type::kSigned;
    switch (width) {
      case 1: return is_signed ? wait<std::int8_t>() : wait<std::uint8_t>();
      case 2: return is_signed ? wait<std::int16_t>() : wait<std::uint16_t>();
      case 4: return is_signed ? wait<std::int32_t>() : wait<std::uint32_t>();
      default: return is_signed ? wait<std::int64_t>() : wait<std::uint64_t>();
    }
  }
};

struct SyncKernel {
  DeviceContext handle;
  Team team;
  bool completes;  // a barrier
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    if (completes)
      dev::barrier(ctx, dev::Block{}, team);
    else
      dev::sync(ctx, dev::Block{}, team);
  }
};

struct MoveKernel {
  DeviceContext handle;
  Team team;
  Moving what;
  bool root_too;  // a broadcast also writes the root's own dst
  std::int32_t root;
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;  // a block
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    switch (what) {
      case Moving::kBroadcast:
        dev::coll::run(
            ctx, block, team, "broadcast", {dst, src, bytes},
            [&](auto& m, const auto& b) {
              return dev::coll::broadcast_packed(m, b, root, root_too);
            },
            [&](auto& m) { return dev::coll::broadcast(m, dst, src, bytes, root, root_too); });
        break;
      case Moving::kFcollect: dev::fcollect(ctx, block, team, dst, src, bytes); break;
      case Moving::kAlltoall: dev::alltoall(ctx, block, team, dst, src, bytes); break;
#if WEFT_TARGET_CPU
      case Moving::kCollect: dev::collect(ctx, block, team, dst, src, bytes); break;
#else
      default: break;
#endif
    }
  }
};

// Reductions and scans.
struct FoldKernel {
  DeviceContext handle;
  Team team;
  Folding what;
  bool pushes;  // on GPUs always: little code, since ShareKernel and ScanShareKernel take what is
                // large where all peers are mapped
  AnyFold fold;
  std::byte* dst;
  const std::byte* src;
  std::size_t count;  // elements of dst
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    dev::coll::run(
        ctx, dev::Block{}, team, name(), {dst, src, is_scan(what) ? 0 : count * fold.element},
        [&](auto& m, const auto& b) { return dev::coll::fold_packed(m, what, b, fold); },
        [&](auto& m) {
#if WEFT_TARGET_CPU
          if (!pushes) return folded(m);
#endif
          return dev::coll::fold_pushed(m, what, dst, src, count, fold);
        });
  }
#if WEFT_TARGET_CPU
  template <class Member>
  bool folded(Member& m) const {
    switch (what) {
      case Folding::kReduce: return dev::coll::reduce(m, dst, src, count, fold);
      case Folding::kReduceScatter: return dev::coll::reducescatter(m, dst, src, count, fold);
      default: return dev::coll::scan(m, dst, src, count, fold, what == Folding::kScanInclusive);
    }
  }
#endif
  WEFT_DEVICE const char* name() const {
    switch (what) {
      case Folding::kReduceScatter: return "reducescatter";
      case Folding::kScanInclusive: return "scan_inclusive";
      case Folding::kScanExclusive: return "scan_exclusive";
      default: return "reduce";
    }
  }
};

// The first of each stream (Platform::prepare).
struct NothingKernel {
  WEFT_DEVICE void operator()() const {}
};

// ROW(name in a GPU's module, kernel)
#define WEFT_KERNELS(ROW)                     \
  ROW(weft_nothing, NothingKernel)            \
  ROW(weft_put, PutKernel)                    \
  ROW(weft_get, GetKernel)                    \
  ROW(weft_quiet, QuietKernel)                \
  ROW(weft_amo, AmoKernel)                    \
  ROW(weft_wait, WaitKernel)                  \
  ROW(weft_sync, SyncKernel)                  \
  ROW(weft_move, MoveKernel)                  \
  ROW(weft_move_share, MoveShareKernel)       \
  ROW(weft_strided, StridedKernel)            \
  ROW(weft_strided_share, StridedShareKernel) \
  ROW(weft_tell, TellKernel)                  \
  ROW(weft_spread, SpreadKernel)              \
  ROW(weft_fold, FoldKernel)                  \
  ROW(weft_share, ShareKernel)                \
  ROW(weft_scan_share, ScanShareKernel)

}  // namespace weft::kernel
