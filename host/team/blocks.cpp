#include "host/team/blocks.hpp"

#include <fmt/format.h>

#include <weft/dev/team_block.hpp>

#include "src/base/status.hpp"

namespace weft {

Result<TeamBlocks> allocate_team_blocks(Heap& heap, int npes, int max_teams,
                                        std::size_t packed_bytes) {
  TeamBlocks blocks = team_blocks(npes, max_teams + 1, 0, packed_bytes);
  const std::size_t bytes = blocks.stride * static_cast<std::size_t>(blocks.count);
  auto memory = heap.allocate(bytes, kCacheLine);
  if (!memory)
    return Status::error(
        memory.status().code(),
        fmt::format("laying out the words of {} teams in the {} (WEFT_MAX_TEAMS, {} bytes each): "
                    "{}",
                    max_teams, heap.name(), blocks.stride, memory.status().text()));
  ASSIGN_OR_RETURN(const Offset offset, heap.offset_of(*memory, bytes));
  blocks.offset = to_u64(offset);
  return blocks;
}

}  // namespace weft
