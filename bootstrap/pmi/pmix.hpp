// libpmix, found at run time.
#pragma once

#include <string>
#include <utility>

#include <weft/options.hpp>

#include "bootstrap/pmi/pmix_abi.hpp"
#include "src/base/dynlib.hpp"

namespace weft::pmix {

Result<std::pair<Dynlib, Table>> load(const Options& options);
// "PMIx 4.2.2 (/usr/lib/libpmix.so.2)".
Result<std::string> describe(const Options& options);

}  // namespace weft::pmix
