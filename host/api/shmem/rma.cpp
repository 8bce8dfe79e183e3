// Put, get, strided, signals, fence and quiet: one template each behind the names of rma.def.h.
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "host/api/blocks.hpp"
#include "host/api/shmem/state.hpp"

namespace weft::shmem {
namespace {

template <Done kDone>
void put_bytes(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
               std::size_t bytes, int pe) {
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->put_bytes(dest, source, bytes, call.pe(), none(), kDone, Caller{routine}));
}
template <Done kDone>
void get_bytes(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
               std::size_t bytes, int pe) {
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->get_bytes(dest, source, bytes, call.pe(), kDone, Caller{routine}));
}

template <class T>
void put(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::size_t count,
         int pe) {
  put_bytes<Done::kLocal>(routine, ctx, dest, source, bytes_of<T>(count), pe);
}
template <class T>
void put_nbi(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::size_t count,
             int pe) {
  put_bytes<Done::kLater>(routine, ctx, dest, source, bytes_of<T>(count), pe);
}
template <class T>
void get(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::size_t count,
         int pe) {
  get_bytes<Done::kLocal>(routine, ctx, dest, source, bytes_of<T>(count), pe);
}
template <class T>
void get_nbi(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::size_t count,
             int pe) {
  get_bytes<Done::kLater>(routine, ctx, dest, source, bytes_of<T>(count), pe);
}

template <class T>
void p(const char* routine, shmem_ctx_t ctx, T* dest, T value, int pe) {
  put_bytes<Done::kLocal>(routine, ctx, dest, &value, sizeof(T), pe);
}

template <class T>
T g(const char* routine, shmem_ctx_t ctx, const T* source, int pe) {
  T value{};
  get_bytes<Done::kLocal>(routine, ctx, &value, source, sizeof(T), pe);
  return value;
}

// --- strided -------------------------------------------------------------------------------------

template <class T>
void iput(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::ptrdiff_t dst,
          std::ptrdiff_t sst, std::size_t count, int pe) {
  const CallerName name(routine);
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->put_strided(dest, source, dst, sst, sizeof(T), count, call.pe()));
}

template <class T>
void iget(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::ptrdiff_t dst,
          std::ptrdiff_t sst, std::size_t count, int pe) {
  const CallerName name(routine);
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->get_strided(dest, source, dst, sst, sizeof(T), count, call.pe()));
}

template <class T>
void ibput(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::ptrdiff_t dst,
           std::ptrdiff_t sst, std::size_t bsize, std::size_t nblocks, int pe) {
  const CallerName name(routine);
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->put_blocks(dest, source, dst, sst, sizeof(T), bsize, nblocks, call.pe()));
}

template <class T>
void ibget(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::ptrdiff_t dst,
           std::ptrdiff_t sst, std::size_t bsize, std::size_t nblocks, int pe) {
  const CallerName name(routine);
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->get_blocks(dest, source, dst, sst, sizeof(T), bsize, nblocks, call.pe()));
}

// --- signals -------------------------------------------------------------------------------------

[[gnu::cold]] void refuse_signal_op(const char* routine, int sig_op) {
  report(Status::error(
             Code::kInvalidArgument,
             fmt::format("{}: argument sig_op is {}; it is SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
                         routine, sig_op)))
      .ignore();
}

template <class T>
void put_with_signal(const char* routine, shmem_ctx_t ctx, T* dest, const T* source,
                     std::size_t count, std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                     int pe, Done done) {
  if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD) [[unlikely]]
    return refuse_signal_op(routine, sig_op);
  const NotifyOp op = sig_op == SHMEM_SIGNAL_SET ? NotifyOp::kSet : NotifyOp::kAdd;
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->put_bytes(dest, source, bytes_of<T>(count), call.pe(),
                           Notify{op, sig_addr, signal}, done, Caller{routine}));
}

template <class T>
void put_signal(const char* routine, shmem_ctx_t ctx, T* dest, const T* source, std::size_t count,
                std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put_with_signal(routine, ctx, dest, source, count, sig_addr, signal, sig_op, pe, Done::kLocal);
}

template <class T>
void put_signal_nbi(const char* routine, shmem_ctx_t ctx, T* dest, const T* source,
                    std::size_t count, std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                    int pe) {
  put_with_signal(routine, ctx, dest, source, count, sig_addr, signal, sig_op, pe, Done::kLater);
}

void signal_set(const char* routine, shmem_ctx_t ctx, std::uint64_t* sig_addr, std::uint64_t signal,
                int pe) {
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->amo_bytes(Amo::kSet, sig_addr, sizeof(signal), signal, 0, nullptr, call.pe(),
                           Done::kLocal, Caller{routine}));
}

void signal_add(const char* routine, shmem_ctx_t ctx, std::uint64_t* sig_addr, std::uint64_t signal,
                int pe) {
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->amo_bytes(Amo::kAdd, sig_addr, sizeof(signal), signal, 0, nullptr, call.pe(),
                           Done::kLocal, Caller{routine}));
}

// --- ordering ------------------------------------------------------------------------------------

// An invalid context has nothing to order or complete.
void fence(const char* routine, shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ResolvedCall call(routine, ctx, 0); call) settle(call->fence(Caller{routine}));
}

void quiet(const char* routine, shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ResolvedCall call(routine, ctx, 0); call) settle(call->quiet(Caller{routine}));
}

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "rma.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
