// Where the collectives of a job's teams keep their words, in a heap.
#pragma once

#include <weft/dev/state.hpp>
#include <weft/result.hpp>

#include "host/memory/heap.hpp"

namespace weft {

// Blocks for `max_teams` teams and one more, for the runtime itself; of a heap that has nothing
// else yet, so they are zero. Collective in effect, as Heap::allocate is.
Result<TeamBlocks> allocate_team_blocks(Heap& heap, int npes, int max_teams,
                                        std::size_t packed_bytes = 0);

}  // namespace weft
