// The operators of weft::kernels as Python calls them: arrays and tensors for pointers, their
// lengths for counts.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

// The classes, and what makes them: functions of the module.
void add_operators(nanobind::module_& m);

}  // namespace weft::python
