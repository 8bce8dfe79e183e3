#include "python/src/tensor.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include "python/src/errors.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

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

}  // namespace

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

Tensor Tensor::bits() const { return {block_, data_, shape_, dtype_->bits()}; }

std::string Tensor::text() const {
  return fmt::format("weft.Tensor(shape=({}{}), dtype={}{}{})", fmt::join(shape_, ", "),
                     shape_.size() == 1 ? "," : "", dtype_->name,
                     block_->gpu() < 0 ? "" : ", device=" + device(),
                     block_->is_freed() ? ", freed" : "");
}

std::string Tensor::device() const {
  return block_->gpu() < 0 ? "cpu" : fmt::format("cuda:{}", block_->gpu());
}

int Tensor::device_type() const {
  return block_->gpu() < 0 ? int{nb::device::cpu::value} : int{nb::device::cuda::value};
}

nb::object Tensor::array_at(std::byte* data) const {
  auto* const held = new Export(block_);
  // Neither the interpreter's lock nor the job's end matter to it.
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Export*>(p); });
  std::vector<std::size_t> shape(shape_.begin(), shape_.end());
  return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner, nullptr,
                                             dtype_->dlpack, device_type(), device_id()));
}

nb::object Tensor::exported() const { return array_at(data()); }

nb::dict Tensor::cuda_array_interface() const {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(dtype_->dlpack.code);
  const char* const kind = code == Code::Bool      ? "|b"
                           : code == Code::Int     ? "<i"
                           : code == Code::UInt    ? "<u"
                           : code == Code::Float   ? "<f"
                           : code == Code::Complex ? "<c"
                                                   : nullptr;
  if (block_->gpu() < 0 || kind == nullptr)
    throw nb::attribute_error("only tensors of a GPU, of types that numpy has, are such arrays");
  nb::list lengths;
  for (const std::int64_t length : shape_) lengths.append(length);
  nb::dict made;
  made["shape"] = nb::tuple(lengths);
  made["typestr"] = nb::str(fmt::format("{}{}", kind, dtype_->bytes).c_str());
  made["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data()), false);
  made["version"] = 3;
  return made;
}

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

}  // namespace weft::python
