// Which bootstrap: what the option says, else what the environment offers.
#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr const char* kMend =
    "Start the program with weft-run, or set WEFT_UNIQUE_ID, WEFT_PE and WEFT_NPES in every "
    "process";

// One PE where the user meant several would be a silent surprise.
Status check_single(const Options& options) {
  if (options.bootstrap != "auto" || options.npes <= 1) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("WEFT_NPES is {} but WEFT_UNIQUE_ID is not set. {}; for a job of one PE, set "
                  "WEFT_BOOTSTRAP=single",
                  options.npes, kMend));
}

Status check_tcp(const Options& options) {
  if (options.unique_id.empty()) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("WEFT_BOOTSTRAP is tcp but WEFT_UNIQUE_ID is not set. {}", kMend));
  }
  if (options.pe < 0 || options.npes < 1) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "WEFT_UNIQUE_ID is set, but WEFT_PE is {} and WEFT_NPES is {} (-1: not set). {}",
            options.pe, options.npes, kMend));
  }
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_bootstrap(const Options& options) {
  const bool tcp =
      options.bootstrap == "tcp" || (options.bootstrap == "auto" && !options.unique_id.empty());
  if (!tcp) {
    RETURN_IF_ERROR(check_single(options));
    LOG(kInfo, "bootstrap", "a job of one PE: {}",
        options.bootstrap == "single" ? "WEFT_BOOTSTRAP is single" : "WEFT_UNIQUE_ID is not set");
    return make_single_bootstrap();
  }
  RETURN_IF_ERROR(check_tcp(options));
  LOG(kInfo, "bootstrap", "PE {} of {} meets the others over tcp", options.pe, options.npes);
  return make_tcp_bootstrap(options.unique_id, static_cast<int>(options.pe),
                            static_cast<int>(options.npes), options);
}

}  // namespace weft
