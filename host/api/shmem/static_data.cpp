#include "host/api/shmem/static_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "host/api/shmem/find_static_data.hpp"

namespace weft::shmem {

namespace {

Owner owner_in(const Options& options) {
  if (options.static_data == "none") return Owner::kNobody;
  return options.static_data == "all" ? Owner::kProgramAndLibraries : Owner::kProgram;
}

}  // namespace

StaticData::StaticData(Options* options) : pieces_(find_static_data(owner_in(*options))) {
  std::uint64_t bytes = 0;
  for (const OwnMemory& piece : pieces_) bytes += piece.bytes;
  options->adopt_size = std::max(options->adopt_size, bytes);
}

Status StaticData::share(Runtime& runtime) const {
  if (pieces_.empty()) return Status::ok();
  Status status = runtime.adopt(pieces_);
  if (status) return status;
  return Status::error(
      status.code(),
      fmt::format("global and static variables cannot be symmetric: {}. PEs must run the same "
                  "program with the same libraries; a job without symmetric variables sets "
                  "WEFT_STATIC_DATA=none on every PE",
                  status.text()));
}

}  // namespace weft::shmem
