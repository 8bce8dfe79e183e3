// Options of a runtime. Made from one table (tables/options.def.h), which is also the parser, the
// documentation and `weft-info --options`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <weft/result.hpp>
#include <weft/target.hpp>

namespace weft {

namespace option_kind {
using kBool = bool;
using kInt = std::int64_t;
using kBytes = std::uint64_t;
using kSeconds = double;
using kText = std::string;
using kEnum = std::string;
using kLevels = std::string;  // as WEFT_LOG takes them
}  // namespace option_kind

struct Options {
#define WEFT_OPTION(field, env, kind, initial, low, high, group, help) \
  option_kind::kind field = initial;
#include <weft/tables/options.def.h>

  // Reads the WEFT_* variables. A value out of range, or of the wrong form, is an error that names
  // variable, value and what is accepted; an unknown WEFT_* name is warned about once, with the
  // nearest known one. An empty value counts as not set.
  WEFT_API static Result<Options> from_environment();

  // Sets one option by its variable's name, with the same checks. If the value comes from another
  // library's variable, `from` names that: texts then say SHMEM_SYMMETRIC_SIZE, which the user set.
  WEFT_API Status set(const std::string& env, const std::string& value,
                      const std::string& from = {});
  // The variable for texts about an option: its own, or what set() was told.
  WEFT_API std::string source(const std::string& env) const;

  // The same checks for fields that a program has set directly.
  WEFT_API Status verify() const;

  // Kept by set(): an option's variable, and the one that its value came from.
  std::vector<std::pair<std::string, std::string>> sources;
};

}  // namespace weft
