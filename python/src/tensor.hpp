// Tensor: a contiguous array in symmetric memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/src/array.hpp"
#include "python/src/dtype.hpp"
#include "python/src/job.hpp"

namespace weft::python {

class Tensor {
 public:
  Tensor(std::shared_ptr<Block> block, std::byte* data, Shape shape, const DType& dtype);

  const std::shared_ptr<Block>& block() const { return block_; }
  const Shape& shape() const { return shape_; }
  const DType& dtype() const { return *dtype_; }
  std::size_t count() const { return elements_of(shape_, dtype_->bytes); }
  std::size_t bytes() const { return count() * dtype_->bytes; }
  // "cpu" or "cuda:0"; and as DLPack has it.
  std::string device() const;
  int device_type() const;
  int device_id() const { return block_->gpu() < 0 ? 0 : block_->gpu(); }
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
  // As Numba and CuPy know arrays of a GPU; raises AttributeError for others.
  nanobind::dict cuda_array_interface() const;
  // The same of what peer `pe` has there; raises where that is not mapped.
  nanobind::object peer(int pe) const;

 private:
  // The length of the first dimension; raises if there is none.
  std::int64_t length() const;
  // A tensor of `shape` whose memory begins at that row of the first dimension.
  Tensor from_row(std::int64_t row, Shape shape) const;
  nanobind::object array_at(std::byte* data) const;

  std::shared_ptr<Block> block_;
  std::byte* data_;
  Shape shape_;
  const DType* dtype_;
};

}  // namespace weft::python
