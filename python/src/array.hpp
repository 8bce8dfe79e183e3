// The memory of an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/src/dtype.hpp"

namespace weft::python {

using Shape = std::vector<std::int64_t>;

// Elements of a shape, all of whose lengths are at least 0, and whose bytes fit in 63 bits; raises
// for others.
std::size_t elements_of(const Shape& shape, std::size_t bytes_each);

// A Tensor, or any contiguous array that speaks DLPack or the buffer protocol.
struct View {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t count = 0;
  Shape shape;
  const DType* dtype = nullptr;
  int gpu = -1;              // where it lies; -1: host memory
  nanobind::ndarray<> held;  // of an array: its memory stays meanwhile
};
enum class Access { kRead, kWrite };
View view_of(const char* name, nanobind::handle argument, Access access);

// Checks that an array lies in the memory of that GPU, or of hosts (-1). Raises for others;
// `advice` says what to do about host memory where a GPU's is wanted, or the other way round.
void check_place(const char* name, const View& view, int gpu, const char* advice);

}  // namespace weft::python
