// The table of C functions that an array library offers as its type's __dlpack_c_exchange_api__
// (DLPack 1.2 and later): an array is read by one call, without an object of Python's.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace weft::python {

// In the layout of DLPack's DLPackExchangeAPI, major version 1.
struct DlpackExchange {
  static constexpr int kHost = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;

  // DLTensor: borrowed, as long as its owner is not changed.
  struct Array {
    void* data;
    std::int32_t device_type, device_id;
    std::int32_t ndim;
    nanobind::dlpack::dtype dtype;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;

    bool is_of_host() const { return device_type == kHost || device_type == kCudaHost; }
    bool is_of_cuda() const { return device_type == kCuda || device_type == kCudaManaged; }
    bool is_contiguous() const;
  };

  // Null for a type that offers none, of another major version, or without a part that is optional.
  static const DlpackExchange* of(nanobind::handle type);

  std::uint32_t major, minor;
  const DlpackExchange* older;
  void *allocate, *managed_array, *array_from_managed;  // not called here
  int (*read_array)(void* object, Array* out);          // as the next, not 0: a Python error is set
  int (*current_stream)(int device_type, std::int32_t device_id, void** out);
};

}  // namespace weft::python
