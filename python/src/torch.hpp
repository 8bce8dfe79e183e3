// Reads torch's objects by Python where a program has loaded it: this package is not linked with
// it.
#pragma once

#include <optional>

#include <nanobind/nanobind.h>

#include "python/src/array.hpp"

namespace weft::python {

// A torch.Tensor by DLPack's table of C functions, or by its attributes where torch has no such
// table: unlike __dlpack__ both take weights that require a gradient. None: it is none; raises for
// one that is not contiguous, or of memory of neither hosts nor GPUs.
std::optional<View> view_of_torch(const char* name, nanobind::handle argument);

// torch's current stream of that GPU as CUDA's handle; null, the default stream, where torch is not
// loaded.
void* torch_stream(int gpu);

}  // namespace weft::python
