// Verbs: libibverbs, found at run time, and its objects, which are released with their handles.
#pragma once

#include <infiniband/verbs.h>
// These functions are called by pointer; the header has other definitions of the names.
#undef ibv_query_port
#undef ibv_reg_mr

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <weft/result.hpp>

#include "src/base/status.hpp"

namespace weft::ib {

#define WEFT_IB_FUNCTIONS(ROW) \
  ROW(get_device_list)         \
  ROW(free_device_list)        \
  ROW(get_device_name)         \
  ROW(open_device)             \
  ROW(close_device)            \
  ROW(query_device)            \
  ROW(query_port)              \
  ROW(alloc_pd)                \
  ROW(dealloc_pd)              \
  ROW(reg_mr)                  \
  ROW(dereg_mr)                \
  ROW(create_comp_channel)     \
  ROW(destroy_comp_channel)    \
  ROW(create_cq)               \
  ROW(destroy_cq)              \
  ROW(get_cq_event)            \
  ROW(ack_cq_events)           \
  ROW(create_srq)              \
  ROW(destroy_srq)             \
  ROW(create_qp)               \
  ROW(modify_qp)               \
  ROW(query_qp)                \
  ROW(destroy_qp)              \
  ROW(create_ah)               \
  ROW(destroy_ah)              \
  ROW(wc_status_str)           \
  ROW(get_async_event)         \
  ROW(ack_async_event)

struct Verbs {
  // Opens the file, or libibverbs.so.1 if that is empty. A success is kept for the process.
  static Result<const Verbs*> get(const std::string& file);

#define WEFT_ROW(name) decltype(&::ibv_##name) name = nullptr;
  WEFT_IB_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  // As ibv_query_gid_table, which is a function of the header, calls it.
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  // Null before rdma-core 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                           int file, int access) = nullptr;
};

// Released by the function that it was made with.
template <class T>
using Handle = std::unique_ptr<T, int (*)(T*)>;
template <class T>
Handle<T> no_handle() {
  return Handle<T>(nullptr, [](T*) { return 0; });
}

// "cannot create a queue pair on mlx5_0 port 1: Cannot allocate memory (errno 12). ...", with the
// mend if there is a known one.
Status failure(std::string_view action, std::string_view device, int error);

// Returns what `make` makes, unless that is null: then the failure, by errno.
template <class T, class Make>
Result<Handle<T>> owned(Make make, int (*release)(T*), std::string_view action,
                        std::string_view device) {
  T* const made = make();
  if (made == nullptr) return failure(action, device, errno);
  return Handle<T>(made, release);
}

}  // namespace weft::ib
