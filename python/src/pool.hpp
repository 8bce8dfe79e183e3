// Symmetric memory as a torch.cuda.MemPool takes it: two C functions for each of a few arenas.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

// open_pool(address, bytes), which gives the arena's number; close_pool(number). Torch finds
// weft_pool_alloc_NUMBER and weft_pool_free_NUMBER in the extension by their names.
void add_pool(nanobind::module_& m);

}  // namespace weft::python
