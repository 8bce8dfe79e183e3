// The last calls that this process queued on its GPUs, for messages: a kernel's failure is known
// only at some later call, whose own name says nothing.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/gpu/abi.hpp"

namespace weft::gpu {

// From any thread; a few stores.
void note_call(std::string_view name) noexcept;
// The end of the text of `error`: ". Before it, this process queued: reduce, before that put". ""
// for an error that leaves the GPU in use; of one that does not, the process knows from then on.
std::string calls_before(abi::Error error);
// Whether a kernel's failure has been told, so that what fails of it later says nothing new.
bool is_failure_known() noexcept;

}  // namespace weft::gpu
