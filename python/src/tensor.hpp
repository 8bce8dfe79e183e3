// Tensor: a contiguous array in symmetric memory; and what operations are given for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/src/dtype.hpp"
#include "python/src/job.hpp"

namespace weft::python {

using Shape = std::vector<std::int64_t>;

// Elements of a shape, all of whose lengths are at least 0, and whose bytes fit in 63 bits; raises
// for others.
std::size_t elements_of(const Shape& shape, std::size_t bytes_each);

class Tensor {
 public:
  Tensor(std::shared_ptr<Block> block, std::byte* data, Shape shape, const DType& dtype);

  const std::shared_ptr<Block>& block() const { return block_; }
  const Shape& shape() const { return shape_; }
  const DType& dtype() const { return *dtype_; }
  std::size_t count() const { return elements_of(shape_, dtype_->bytes); }
  std::size_t bytes() const { return count() * dtype_->bytes; }
  // Its memory; raises if that was freed.
  std::byte* data() const;

  // Part of the first dimension, which shares the memory.
  Tensor item(std::int64_t index) const;
  Tensor slice(const nanobind::slice& part) const;
  Tensor reshaped(Shape shape) const;
  // The same memory as unsigned integers, for libraries that do not know the type.
  Tensor bits() const;
  std::string text() const;
  // An array of the same memory that other libraries take by DLPack; it counts as an export.
  nanobind::object exported() const;
  // The same of what peer `pe` has there; raises where that is not mapped.
  nanobind::object peer(int pe) const;

 private:
  // Of the first dimension; raises if there is none.
  std::int64_t length() const;
  // A tensor of `shape` whose memory begins at that row of the first dimension.
  Tensor from_row(std::int64_t row, Shape shape) const;
  nanobind::object array_at(std::byte* data) const;

  std::shared_ptr<Block> block_;
  std::byte* data_;
  Shape shape_;
  const DType* dtype_;
};

// The memory of an argument: a Tensor, or any contiguous array on hosts that speaks DLPack or the
// buffer protocol.
struct View {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t count = 0;
  Shape shape;
  const DType* dtype = nullptr;
  nanobind::ndarray<> held;  // of an array: its memory stays meanwhile
};
enum class Access { kRead, kWrite };
View view_of(const char* name, nanobind::handle argument, Access access);

}  // namespace weft::python
