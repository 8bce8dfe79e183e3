// The short way to a descriptor of another process: /proc shows it to a process of the same user,
// and nobody in the other process has to do anything. Where /proc does not (another pid namespace,
// rules on ptrace), fd_server.hpp has the long way.
#pragma once

#include <cstdint>

#include "src/base/unique_fd.hpp"
#include "src/platform/platform.hpp"

namespace weft::cpu {

// Anonymous memory, named so that nothing else can be taken for it.
UniqueFd make_named_memory(const Uuid& name);

// The memory of that name behind a descriptor of that process, if it belongs to this user. Not
// there: no descriptor, which is no error.
UniqueFd open_fd_of(std::int64_t pid, std::int64_t fd, const Uuid& name);

}  // namespace weft::cpu
