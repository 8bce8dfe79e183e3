// An in-order queue of work beside the host threads.
#pragma once

namespace weft {

// A cudaStream_t or hipStream_t on GPUs, an object of libweft on the CPU target. Null is the
// default stream; on the CPU target every host thread has a default stream of its own, so that PEs
// that are threads of one process never wait behind each other.
using Stream = void*;

}  // namespace weft
