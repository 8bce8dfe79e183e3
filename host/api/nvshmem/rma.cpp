// Put, get, strided, signals, fence and quiet: one template each behind the names of rma.def.h.
#include <cstddef>
#include <cstdint>

#include "host/api/blocks.hpp"
#include "host/api/nvshmem/signal.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

template <class T>
void put(const char* routine, T* dest, const T* source, std::size_t count, int pe) {
  if (Call call(routine); call) settle(call->put_bytes(dest, source, bytes_of<T>(count), pe));
}

template <class T>
void put_nbi(const char* routine, T* dest, const T* source, std::size_t count, int pe) {
  if (Call call(routine); call)
    settle(call->put_bytes(dest, source, bytes_of<T>(count), pe, none(), Done::kLater));
}

template <class T>
void get(const char* routine, T* dest, const T* source, std::size_t count, int pe) {
  if (Call call(routine); call) settle(call->get_bytes(dest, source, bytes_of<T>(count), pe));
}

template <class T>
void get_nbi(const char* routine, T* dest, const T* source, std::size_t count, int pe) {
  if (Call call(routine); call)
    settle(call->get_bytes(dest, source, bytes_of<T>(count), pe, Done::kLater));
}

template <class T>
void p(const char* routine, T* dest, T value, int pe) {
  if (Call call(routine); call) settle(call->put_bytes(dest, &value, sizeof(T), pe));
}

template <class T>
T g(const char* routine, const T* source, int pe) {
  T value{};
  if (Call call(routine); call) settle(call->get_bytes(&value, source, sizeof(T), pe));
  return value;
}

// --- strided -------------------------------------------------------------------------------------

// Host memory has a call for it; to GPUs and from them each element is a copy.
template <class T>
void iput(const char* routine, T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t count, int pe) {
  const Call call(routine);
  if (!call) return;
  if (call.runtime_of().gpu() < 0) {
    settle(call->put_strided(dest, source, dst, sst, sizeof(T), count, pe));
    return;
  }
  Status status;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count) && status; ++i)
    status = call->put_bytes(dest + i * dst, source + i * sst, sizeof(T), pe);
  settle(status);
}

template <class T>
void iget(const char* routine, T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t count, int pe) {
  const Call call(routine);
  if (!call) return;
  if (call.runtime_of().gpu() < 0) {
    settle(call->get_strided(dest, source, dst, sst, sizeof(T), count, pe));
    return;
  }
  Status status;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count) && status; ++i)
    status = call->get_bytes(dest + i * dst, source + i * sst, sizeof(T), pe);
  settle(status);
}

// --- signals -------------------------------------------------------------------------------------

template <class T>
void put_and_tell(const char* routine, T* dest, const T* source, std::size_t count,
                  std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe, Done done) {
  const Call call(routine);
  if (!call) return;
  if (const auto notify = notify_of(routine, sig_addr, signal, sig_op))
    settle(call->put_bytes(dest, source, bytes_of<T>(count), pe, *notify, done));
}

template <class T>
void put_signal(const char* routine, T* dest, const T* source, std::size_t count,
                std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put_and_tell(routine, dest, source, count, sig_addr, signal, sig_op, pe, Done::kLocal);
}

template <class T>
void put_signal_nbi(const char* routine, T* dest, const T* source, std::size_t count,
                    std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put_and_tell(routine, dest, source, count, sig_addr, signal, sig_op, pe, Done::kLater);
}

void signal_op(const char* routine, std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
               int pe) {
  const Call call(routine);
  if (!call) return;
  if (const auto notify = notify_of(routine, sig_addr, signal, sig_op))
    settle(call->signal(*notify, pe));
}

// --- ordering ------------------------------------------------------------------------------------

void fence(const char* routine) {
  if (Call call(routine); call) settle(call->fence());
}

void quiet(const char* routine) {
  if (Call call(routine); call) settle(call->quiet());
}

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "rma.def.h"
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
