#include "python/src/torch.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/src/dlpack_exchange.hpp"
#include "python/src/errors.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

// Objects of torch that are looked up once. They stay to the end of the process.
struct Torch {
  PyObject *tensor, *parameter, *current_stream;
  PyObject *data_ptr, *dtype, *get_device, *is_contiguous, *is_cuda, *shape;
  std::vector<std::pair<PyObject*, const DType*>> dtypes;
  const DlpackExchange* exchange;  // null before torch 2.10

  explicit Torch(nb::handle torch)
      : tensor(torch.attr("Tensor").inc_ref().ptr()),
        parameter(torch.attr("nn").attr("Parameter").inc_ref().ptr()),
        current_stream(
            nb::getattr(torch.attr("_C"), "_cuda_getCurrentRawStream", nb::none()).inc_ref().ptr()),
        data_ptr(name("data_ptr")),
        dtype(name("dtype")),
        get_device(name("get_device")),
        is_contiguous(name("is_contiguous")),
        is_cuda(name("is_cuda")),
        shape(name("shape")),
        exchange(DlpackExchange::of(nb::handle(tensor))) {}
  static PyObject* name(const char* text) { return PyUnicode_InternFromString(text); }
};

// Null where no program has loaded it, or while it is being loaded. With the interpreter's lock.
Torch* loaded_torch() {
  static Torch* found = nullptr;
  if (found != nullptr) return found;
  const nb::handle module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (!module.is_valid() || !nb::hasattr(module, "nn") || !nb::hasattr(module, "_C"))
    return nullptr;
  found = new Torch(module);
  return found;
}

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}
nb::object attribute(nb::handle object, PyObject* name) {
  return checked(PyObject_GetAttr(object.ptr(), name));
}
nb::object call(nb::handle object, PyObject* name) {
  return checked(PyObject_CallMethodObjArgs(object.ptr(), name, static_cast<PyObject*>(nullptr)));
}

const DType& torch_dtype(Torch& torch, const char* name, nb::handle given) {
  for (const auto& [object, dtype] : torch.dtypes)
    if (object == given.ptr()) return *dtype;
  std::string text = nb::cast<std::string>(nb::str(given));
  const DType* const found = dtype_named(text.substr(text.find('.') + 1));
  if (found == nullptr)
    raise_argument(
        fmt::format("argument {} has elements of {}, which Weft does not know", name, text));
  torch.dtypes.emplace_back(given.inc_ref().ptr(), found);
  return *found;
}

[[noreturn]] void raise_not_contiguous(const char* name) {
  raise_argument(fmt::format("argument {} is not contiguous: tensor.contiguous() is", name));
}

[[noreturn]] void raise_place(const char* name, nb::handle argument) {
  raise_argument(fmt::format("argument {} is on device {}; Weft takes cpu and cuda", name,
                             nb::cast<std::string>(argument.attr("device").attr("type"))));
}

View view_by_exchange(Torch& torch, const char* name, nb::handle argument) {
  DlpackExchange::Array array;
  if (torch.exchange->read_array(argument.ptr(), &array) != 0) throw nb::python_error();
  if (!array.is_contiguous()) raise_not_contiguous(name);
  if (!array.is_of_host() && !array.is_of_cuda()) raise_place(name, argument);
  View view;
  view.dtype = dtype_of(array.dtype);
  if (view.dtype == nullptr)
    view.dtype = &torch_dtype(torch, name, attribute(argument, torch.dtype));
  view.shape.assign(array.shape, array.shape + array.ndim);
  view.count = elements_of(view.shape, view.dtype->bytes);
  view.bytes = view.count * view.dtype->bytes;
  view.data = static_cast<std::byte*>(array.data) + array.byte_offset;
  if (array.is_of_cuda()) view.gpu = array.device_id;
  return view;
}

View view_by_attributes(Torch& torch, const char* name, nb::handle argument) {
  if (call(argument, torch.is_contiguous).is(nb::handle(Py_False))) raise_not_contiguous(name);
  View view;
  view.dtype = &torch_dtype(torch, name, attribute(argument, torch.dtype));
  const nb::object shape = attribute(argument, torch.shape);
  for (const nb::handle length : shape) view.shape.push_back(nb::cast<std::int64_t>(length));
  view.count = elements_of(view.shape, view.dtype->bytes);
  view.bytes = view.count * view.dtype->bytes;
  view.data =
      reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(call(argument, torch.data_ptr)));
  if (attribute(argument, torch.is_cuda).is(nb::handle(Py_True)))
    view.gpu = nb::cast<int>(call(argument, torch.get_device));
  else if (nb::cast<std::string>(argument.attr("device").attr("type")) != "cpu")
    raise_place(name, argument);
  return view;
}

}  // namespace

std::optional<View> view_of_torch(const char* name, nb::handle argument) {
  Torch* const torch = loaded_torch();
  if (torch == nullptr) return std::nullopt;
  const PyObject* const type = argument.type().ptr();
  if (type != torch->tensor && type != torch->parameter) return std::nullopt;
  return torch->exchange != nullptr ? view_by_exchange(*torch, name, argument)
                                    : view_by_attributes(*torch, name, argument);
}

void* torch_stream(int gpu) {
  Torch* const torch = loaded_torch();
  if (torch == nullptr || torch->current_stream == Py_None) return nullptr;
  if (torch->exchange != nullptr) {
    void* stream = nullptr;
    if (torch->exchange->current_stream(DlpackExchange::kCuda, gpu, &stream) != 0)
      throw nb::python_error();
    return stream;
  }
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::handle(torch->current_stream)(gpu)));
}

}  // namespace weft::python
