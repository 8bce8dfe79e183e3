#include "python/src/array.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include "python/src/errors.hpp"
#include "python/src/tensor.hpp"
#include "python/src/torch.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

constexpr std::size_t kMostBytes = std::numeric_limits<std::int64_t>::max();

// An array of numpy's whose type of elements is another package's, which DLPack does not take, as
// the integers that it consists of.
bool view_of_bits(nb::handle argument, Access access, View* view) {
  if (!nb::hasattr(argument, "dtype") || !nb::hasattr(argument, "view")) return false;
  const nb::object given = argument.attr("dtype");
  const DType* const dtype = dtype_named(nb::cast<std::string>(nb::str(nb::handle(given))));
  if (dtype == nullptr || dtype->bytes > 2) return false;
  const nb::object bits = argument.attr("view")(dtype->bits().name);
  *view = view_of("", bits, access);
  view->dtype = dtype;
  return true;
}

std::string place_name(int gpu) {
  return gpu < 0 ? "host memory" : fmt::format("memory of cuda:{}", gpu);
}

}  // namespace

std::size_t elements_of(const Shape& shape, std::size_t bytes_each) {
  std::size_t bytes = bytes_each;
  bool is_empty = false;
  for (const std::int64_t length : shape) {
    if (length < 0)
      raise_argument(fmt::format("shape ({}): no length is below 0", fmt::join(shape, ", ")));
    is_empty = is_empty || length == 0;
    if (length != 0 && (__builtin_mul_overflow(bytes, static_cast<std::size_t>(length), &bytes) ||
                        bytes > kMostBytes))
      raise_argument(
          fmt::format("shape ({}) is larger than memory can be", fmt::join(shape, ", ")));
  }
  return is_empty ? 0 : bytes / bytes_each;
}

View view_of(const char* name, nb::handle argument, Access access) {
  View view;
  const Tensor* tensor = nullptr;
  if (nb::try_cast(argument, tensor) && tensor != nullptr) {
    view.data = tensor->data();
    view.bytes = tensor->bytes();
    view.count = tensor->count();
    view.shape = tensor->shape();
    view.dtype = &tensor->dtype();
    view.gpu = tensor->block()->gpu();
    return view;
  }
  if (auto of_torch = view_of_torch(name, argument)) return *std::move(of_torch);
  const auto take = [&](auto array) {
    view.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(array.data())));
    view.count = array.size();
    for (std::size_t i = 0; i < array.ndim(); ++i)
      view.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    view.bytes = array.nbytes();
    view.dtype = dtype_of(array.dtype());
    if (array.device_type() == nb::device::cuda::value) view.gpu = array.device_id();
    view.held = nb::ndarray<>(array.handle());
  };
  using ReadOnly = nb::ndarray<nb::ro, nb::c_contig>;
  using Writable = nb::ndarray<nb::c_contig>;
  Writable writable;
  ReadOnly read_only;
  if (nb::try_cast(argument, writable, false))
    take(writable);
  else if (access == Access::kRead && nb::try_cast(argument, read_only, false))
    take(read_only);
  else if (view_of_bits(argument, access, &view))
    return view;
  else
    raise_argument(
        fmt::format("argument {} is a {}; it is a weft.Tensor or an array that is contiguous{}",
                    name, nb::cast<std::string>(argument.type().attr("__name__")),
                    access == Access::kWrite ? " and writable" : ""));
  if (view.dtype == nullptr)
    raise_argument(fmt::format("argument {} has a type of elements that Weft does not know", name));
  return view;
}

void check_place(const char* name, const View& view, int gpu, const char* advice) {
  if (view.gpu == gpu) return;
  if (view.gpu >= 0 && gpu >= 0)
    raise_argument(
        fmt::format("argument {} is {}, and the job's GPU is cuda:{}: make it there, or "
                    "call torch.cuda.set_device({}) before weft.init()",
                    name, place_name(view.gpu), gpu, view.gpu));
  raise_argument(fmt::format("argument {} is {}: {}", name, place_name(view.gpu), advice));
}

}  // namespace weft::python
