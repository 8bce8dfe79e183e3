// Operations on streams: the calls of weft/on_stream.hpp behind the names of stream.def.h.
#include <weft/on_stream.hpp>

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include <weft/device/cpu_grid.hpp>

#include "host/api/bits.hpp"
#include "host/api/blocks.hpp"
#include "host/api/nvshmem/driver.hpp"
#include "host/api/nvshmem/signal.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

// operation(queue) on the default context, if there is one.
template <class Operation>
void queue(const char* routine, cudaStream_t stream, Operation operation) {
  const Call call(routine);
  if (!call) return;
  OnStream queue(call.context(), stream);
  settle(operation(queue));
}

template <class T>
void put(const char* routine, cudaStream_t stream, T* dest, const T* source, std::size_t count,
         int pe) {
  queue(routine, stream, [=](OnStream& q) { return q.put(dest, source, count, pe); });
}
// No call waits for what it queues.
template <class T>
void put_nbi(const char* routine, cudaStream_t stream, T* dest, const T* source, std::size_t count,
             int pe) {
  put(routine, stream, dest, source, count, pe);
}

template <class T>
void get(const char* routine, cudaStream_t stream, T* dest, const T* source, std::size_t count,
         int pe) {
  queue(routine, stream, [=](OnStream& q) { return q.get(dest, source, count, pe); });
}
template <class T>
void get_nbi(const char* routine, cudaStream_t stream, T* dest, const T* source, std::size_t count,
             int pe) {
  get(routine, stream, dest, source, count, pe);
}

// The value travels in the operation, since nothing else of it is there when that runs. Words are
// set at once; of smaller ones, the bits that are not in the value are taken away, then those that
// are come.
template <class T>
Status put_value(OnStream& queue, T* dest, T value, int pe) {
  if constexpr (sizeof(T) >= 4) {
    return queue.amo_bytes(Amo::kSet, dest, sizeof(T), bits(value), pe);
  } else {
    const std::size_t at = reinterpret_cast<std::uintptr_t>(dest) % 4;
    auto* const word = reinterpret_cast<std::byte*>(dest) - at;
    const std::uint64_t mask = ((std::uint64_t{1} << (8 * sizeof(T))) - 1) << (8 * at);
    const std::uint64_t set = bits(value) << (8 * at);
    Status cleared = queue.amo_bytes(Amo::kAnd, word, 4, 0xffffffffu & ~(mask & ~set), pe);
    return cleared ? queue.amo_bytes(Amo::kOr, word, 4, set, pe) : cleared;
  }
}

template <class T>
void p(const char* routine, cudaStream_t stream, T* dest, T value, int pe) {
  queue(routine, stream, [=](OnStream& q) { return put_value(q, dest, value, pe); });
}

// Everything that was queued has run.
Status finish(const Runtime& rt, cudaStream_t stream) {
  if (rt.gpu() < 0) return cpu::synchronize(stream);
  auto driver = Driver::open(rt.options().cuda_library);
  return driver ? driver->synchronize(stream) : driver.status();
}

// The result is asked for at once: the one call that waits.
template <class T>
T g(const char* routine, cudaStream_t stream, const T* source, int pe) {
  T value{};
  const Call call(routine);
  if (!call) return value;
  OnStream queue(call.context(), stream);
  const Status queued = queue.get_bytes(&value, source, sizeof(T), pe);
  settle(queued ? finish(call.runtime_of(), stream) : queued);
  return value;
}

// One operation for each element: there is no stride inside one.
template <class Operation>
void queue_each(const char* routine, cudaStream_t stream, std::size_t count, Operation operation) {
  queue(routine, stream, [=](OnStream& q) {
    Status status;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count) && status; ++i)
      status = operation(q, i);
    return status;
  });
}

template <class T>
void iput(const char* routine, cudaStream_t stream, T* dest, const T* source, std::ptrdiff_t dst,
          std::ptrdiff_t sst, std::size_t count, int pe) {
  queue_each(routine, stream, count, [=](OnStream& q, std::ptrdiff_t i) {
    return q.put(dest + i * dst, source + i * sst, 1, pe);
  });
}

template <class T>
void iget(const char* routine, cudaStream_t stream, T* dest, const T* source, std::ptrdiff_t dst,
          std::ptrdiff_t sst, std::size_t count, int pe) {
  queue_each(routine, stream, count, [=](OnStream& q, std::ptrdiff_t i) {
    return q.get(dest + i * dst, source + i * sst, 1, pe);
  });
}

// --- signals and waits ---------------------------------------------------------------------------

template <class T>
void put_signal(const char* routine, cudaStream_t stream, T* dest, const T* source,
                std::size_t count, std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                int pe) {
  if (const auto notify = notify_of(routine, sig_addr, signal, sig_op))
    queue(routine, stream, [=](OnStream& q) { return q.put(dest, source, count, pe, *notify); });
}
template <class T>
void put_signal_nbi(const char* routine, cudaStream_t stream, T* dest, const T* source,
                    std::size_t count, std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                    int pe) {
  put_signal(routine, stream, dest, source, count, sig_addr, signal, sig_op, pe);
}

void signal_op(const char* routine, cudaStream_t stream, std::uint64_t* sig_addr,
               std::uint64_t signal, int sig_op, int pe) {
  if (const auto notify = notify_of(routine, sig_addr, signal, sig_op))
    queue(routine, stream, [=](OnStream& q) { return q.signal(*notify, pe); });
}

template <class T>
void wait_until(const char* routine, cudaStream_t stream, const T* ivar, int cmp, T value) {
  queue(routine, stream, [=](OnStream& q) { return q.wait_until(ivar, comparison(cmp), value); });
}

template <class T>
void wait_until_all(const char* routine, cudaStream_t stream, const T* ivars, std::size_t count,
                    const int* status, int cmp, T value) {
  queue(routine, stream, [=](OnStream& q) {
    return q.wait_until_all(ivars, count, status, comparison(cmp), value);
  });
}

template <class T>
void wait_until_all_vector(const char* routine, cudaStream_t stream, const T* ivars,
                           std::size_t count, const int* status, int cmp, const T* values) {
  queue(routine, stream, [=](OnStream& q) {
    return q.wait_until_all_vector(ivars, count, status, comparison(cmp), values);
  });
}

void quiet(const char* routine, cudaStream_t stream) {
  queue(routine, stream, [](OnStream& q) { return q.quiet(); });
}

// --- collectives ---------------------------------------------------------------------------------

// operation(queue, team) for the team behind the number; what the C names return.
template <class Operation>
int together(const char* routine, cudaStream_t stream, nvshmem_team_t number, Operation operation) {
  const TeamPlace* const place = admit(routine, number);
  if (place == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  const CallerName name(routine);
  OnStream queue(*place->context, stream);
  return error_code(operation(queue, place->team));
}

int team_sync(const char* routine, cudaStream_t stream, nvshmem_team_t team) {
  return together(routine, stream, team, [](OnStream& q, const Team& t) { return q.sync(t); });
}
void sync_all(const char* routine, cudaStream_t stream) {
  team_sync(routine, stream, NVSHMEM_TEAM_WORLD);
}

int barrier(const char* routine, cudaStream_t stream, nvshmem_team_t team) {
  return together(routine, stream, team, [](OnStream& q, const Team& t) { return q.barrier(t); });
}
void barrier_all(const char* routine, cudaStream_t stream) {
  barrier(routine, stream, NVSHMEM_TEAM_WORLD);
}

template <class T>
int broadcast(const char* routine, cudaStream_t stream, nvshmem_team_t team, T* dest,
              const T* source, std::size_t count, int root) {
  return together(routine, stream, team, [=](OnStream& q, const Team& t) {
    return q.broadcast(t, dest, source, count, root);
  });
}

template <class T>
int fcollect(const char* routine, cudaStream_t stream, nvshmem_team_t team, T* dest,
             const T* source, std::size_t count) {
  return together(routine, stream, team,
                  [=](OnStream& q, const Team& t) { return q.fcollect(t, dest, source, count); });
}

template <class T>
int alltoall(const char* routine, cudaStream_t stream, nvshmem_team_t team, T* dest,
             const T* source, std::size_t count) {
  return together(routine, stream, team,
                  [=](OnStream& q, const Team& t) { return q.alltoall(t, dest, source, count); });
}

template <ReduceOp kOp, class T>
int reduce(const char* routine, cudaStream_t stream, nvshmem_team_t team, T* dest, const T* source,
           std::size_t count) {
  return together(routine, stream, team, [=](OnStream& q, const Team& t) {
    return q.reduce(t, dest, source, count, kOp);
  });
}

template <ReduceOp kOp, class T>
int reducescatter(const char* routine, cudaStream_t stream, nvshmem_team_t team, T* dest,
                  const T* source, std::size_t count) {
  return together(routine, stream, team, [=](OnStream& q, const Team& t) {
    return q.reducescatter(t, dest, source, count, kOp);
  });
}

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "stream.def.h"
#define WEFT_NVSHMEM_HOST WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
