#include "python/src/tensor.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include "python/src/errors.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

constexpr std::size_t kMostBytes = std::numeric_limits<std::int64_t>::max();

// Keeps the memory of an exported array, and counts it.
struct Export {
  explicit Export(std::shared_ptr<Block> exported) : block(std::move(exported)) {
    block->add_export();
  }
  ~Export() { block->end_export(); }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  std::shared_ptr<Block> block;
};

const DType& bits_of(const DType& dtype) {
  return *dtype_named(fmt::format("uint{}", 8 * dtype.bytes));
}

// An array of numpy's whose type of elements is another package's, which DLPack does not take, as
// the integers that it consists of.
bool view_of_bits(nb::handle argument, Access access, View* view) {
  if (!nb::hasattr(argument, "dtype") || !nb::hasattr(argument, "view")) return false;
  const nb::object given = argument.attr("dtype");
  const DType* const dtype = dtype_named(nb::cast<std::string>(nb::str(nb::handle(given))));
  if (dtype == nullptr || dtype->bytes > 2) return false;
  const nb::object bits = argument.attr("view")(bits_of(*dtype).name);
  *view = view_of("", bits, access);
  view->dtype = dtype;
  return true;
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

Tensor::Tensor(std::shared_ptr<Block> block, std::byte* data, Shape shape, const DType& dtype)
    : block_(std::move(block)), data_(data), shape_(std::move(shape)), dtype_(&dtype) {}

std::byte* Tensor::data() const {
  if (block_->is_freed()) raise_argument("the tensor was freed by weft.free()");
  return data_;
}

std::int64_t Tensor::length() const {
  if (shape_.empty()) throw nb::index_error("a tensor without dimensions has no items");
  return shape_[0];
}

Tensor Tensor::from_row(std::int64_t row, Shape shape) const {
  const Shape rest(shape_.begin() + 1, shape_.end());
  const std::size_t bytes = elements_of(rest, dtype_->bytes) * dtype_->bytes;
  return {block_, data_ + static_cast<std::size_t>(row) * bytes, std::move(shape), *dtype_};
}

Tensor Tensor::item(std::int64_t index) const {
  const std::int64_t rows = length();
  if (index < 0) index += rows;
  if (index < 0 || index >= rows) throw nb::index_error("index out of range");
  return from_row(index, Shape(shape_.begin() + 1, shape_.end()));
}

Tensor Tensor::slice(const nb::slice& part) const {
  const auto [start, stop, step, rows] = part.compute(static_cast<std::size_t>(length()));
  if (step != 1) throw nb::index_error("a tensor's slice is contiguous: its step is 1");
  Shape shape = shape_;
  shape[0] = static_cast<std::int64_t>(rows);
  return from_row(static_cast<std::int64_t>(start), std::move(shape));
}

Tensor Tensor::reshaped(Shape shape) const {
  if (elements_of(shape, dtype_->bytes) != count())
    raise_argument(fmt::format("a tensor of shape ({}) has other elements than one of ({})",
                               fmt::join(shape_, ", "), fmt::join(shape, ", ")));
  return {block_, data_, std::move(shape), *dtype_};
}

Tensor Tensor::bits() const { return {block_, data_, shape_, bits_of(*dtype_)}; }

std::string Tensor::text() const {
  return fmt::format("weft.Tensor(shape=({}{}), dtype={}{})", fmt::join(shape_, ", "),
                     shape_.size() == 1 ? "," : "", dtype_->name,
                     block_->is_freed() ? ", freed" : "");
}

nb::object Tensor::array_at(std::byte* data) const {
  auto* const held = new Export(block_);
  // Neither the interpreter's lock nor the job's end matter to it.
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Export*>(p); });
  std::vector<std::size_t> shape(shape_.begin(), shape_.end());
  return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner, nullptr,
                                             dtype_->dlpack, nb::device::cpu::value, 0));
}

nb::object Tensor::exported() const { return array_at(data()); }

nb::object Tensor::peer(int pe) const {
  std::byte* const mine = data();
  const auto use = value_of(block_->job().use());
  if (pe < 0 || pe >= use->npes())
    raise_argument(
        fmt::format("weft.peer: argument pe is {}; the job has PEs 0 to {}", pe, use->npes() - 1));
  auto* const there = static_cast<std::byte*>(use->context().ptr(mine, pe));
  if (there == nullptr)
    raise(Status::error(Code::kUnsupported,
                        fmt::format("weft.peer: memory of PE {} is not mapped here, as on another "
                                    "host; weft.get and weft.put reach it",
                                    pe)));
  return array_at(there);
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
    return view;
  }
  const auto take = [&](auto array) {
    view.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(array.data())));
    view.count = array.size();
    for (std::size_t i = 0; i < array.ndim(); ++i)
      view.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    view.bytes = array.nbytes();
    view.dtype = dtype_of(array.dtype());
    view.held = nb::ndarray<>(array.handle());
  };
  using ReadOnly = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
  using Writable = nb::ndarray<nb::c_contig, nb::device::cpu>;
  Writable writable;
  ReadOnly read_only;
  if (nb::try_cast(argument, writable, false))
    take(writable);
  else if (access == Access::kRead && nb::try_cast(argument, read_only, false))
    take(read_only);
  else if (view_of_bits(argument, access, &view))
    return view;
  else
    raise_argument(fmt::format(
        "argument {} is a {}; it is a weft.Tensor or an array of host memory that is contiguous{}",
        name, nb::cast<std::string>(argument.type().attr("__name__")),
        access == Access::kWrite ? " and writable" : ""));
  if (view.dtype == nullptr)
    raise_argument(fmt::format("argument {} has a type of elements that Weft does not know", name));
  return view;
}

}  // namespace weft::python
