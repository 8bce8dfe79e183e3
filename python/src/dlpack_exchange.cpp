#include "python/src/dlpack_exchange.hpp"

namespace weft::python {

namespace nb = nanobind;

bool DlpackExchange::Array::is_contiguous() const {
  bool is_dense = true;
  std::int64_t stride = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    is_dense = is_dense && (shape[i] == 1 || strides[i] == stride);
    stride *= shape[i];
  }
  return is_dense;
}

const DlpackExchange* DlpackExchange::of(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_CheckExact(capsule.ptr())) return nullptr;
  const auto* found = static_cast<const DlpackExchange*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (found == nullptr) PyErr_Clear();
  while (found != nullptr && found->major != 1) found = found->older;
  const bool is_whole =
      found != nullptr && found->read_array != nullptr && found->current_stream != nullptr;
  return is_whole ? found : nullptr;
}

}  // namespace weft::python
