// The meaning of a kernel's fault record, for people. Pure.
#pragma once

#include <functional>
#include <string>

#include <weft/dev/state.hpp>
#include <weft/status.hpp>

namespace weft {

// Names who last wrote the signal word at a heap offset ("PE 3"); "" when nobody knows.
using LastWriter = std::function<std::string(std::uint64_t offset)>;

// The status that a finished record stands for: what, where, seen and wanted, how long, the mend.
// `npes` and `heap_bytes` say what would have been right; `end` is how the job has ended, if it
// has, which is then why a wait did.
Status describe_fault(const FaultRecord& record, int my_pe, int npes, std::uint64_t heap_bytes,
                      const LastWriter& last_writer, const Status& end = {});

}  // namespace weft
