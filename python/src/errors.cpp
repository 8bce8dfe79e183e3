#include "python/src/errors.hpp"

#include <string>

namespace weft::python {
namespace {

[[noreturn]] void raise_as(const char* code, const char* text) {
  const nanobind::object error =
      nanobind::module_::import_("weft._errors").attr("error_of")(code, text);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nanobind::python_error();
}

}  // namespace

void raise(const Status& failure) { raise_as(to_string(failure.code()), failure.text()); }

void raise_argument(const std::string& text) {
  raise_as(to_string(Code::kInvalidArgument), text.c_str());
}

}  // namespace weft::python
