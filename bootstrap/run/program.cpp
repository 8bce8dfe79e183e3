#include "bootstrap/run/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

Status check_file(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) {
    const int error = errno;
    return Status::error(
        error == ENOENT || error == ENOTDIR ? Code::kOutOfRange : Code::kInvalidArgument,
        fmt::format("program {}: {}", file, net::errno_text(error)));
  }
  if (S_ISDIR(info.st_mode)) {
    return Status::error(Code::kInvalidArgument, fmt::format("program {} is a directory", file));
  }
  if (::access(file.c_str(), X_OK) != 0) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("program {} is not executable: {}. If it is meant to be: "
                                     "chmod +x {}",
                                     file, net::errno_text(errno), file));
  }
  return Status::ok();
}

}  // namespace

Result<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.find('/') != std::string::npos) {
    RETURN_IF_ERROR(check_file(name));
    return name;
  }
  Status best;  // a file that is there but cannot be run tells more than "not found"
  for (std::string_view rest = path; !name.empty();) {
    const auto colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const auto file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    Status status = check_file(file);
    if (status.is_ok()) return file;
    if (status.is(Code::kInvalidArgument) && best.is_ok()) best = std::move(status);
    if (colon == std::string_view::npos) break;
    rest = rest.substr(colon + 1);
  }
  if (!best.is_ok()) return best;
  const bool here = ::access(name.c_str(), F_OK) == 0;
  return Status::error(
      Code::kOutOfRange,
      here ? fmt::format("program {} is not in PATH, but it is here: say ./{}", name, name)
           : fmt::format("program \"{}\" is not in PATH ({})", name, path));
}

}  // namespace weft::run
