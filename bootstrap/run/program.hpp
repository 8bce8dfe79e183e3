// Finds the program before anything is started, so that a typing error is one message, not N.
#pragma once

#include <string>
#include <string_view>

#include <weft/result.hpp>

namespace weft::run {

// As a shell would: a name with a slash is a path, others are sought in `path`. kOutOfRange: there
// is no such file; kInvalidArgument: it cannot be run.
Result<std::string> find_program(const std::string& name, std::string_view path);

}  // namespace weft::run
