#include "host/team/members.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

namespace {

Status bad(Code code, std::string text, const char* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  return Status::error(code, std::move(text), file, line);
}

}  // namespace

Result<Pes> strided_members(const Team& parent, int start, int stride, int size) {
  if (size < 1 || size > parent.size)
    return bad(Code::kOutOfRange,
               fmt::format("{}: argument size is {}; a team of this parent has 1 to {} "
                           "members",
                           caller_or("split_strided"), size, parent.size));
  if (start < 0 || start >= parent.size)
    return bad(Code::kOutOfRange, fmt::format("{}: argument start is {}; the parent has "
                                              "ranks 0 to {}",
                                              caller_or("split_strided"), start, parent.size - 1));
  if (stride == 0 && size > 1)
    return bad(Code::kInvalidArgument,
               fmt::format("{}: argument stride is 0, so that rank {} would be a member "
                           "{} times",
                           caller_or("split_strided"), start, size));
  const std::int64_t last = start + std::int64_t{size - 1} * stride;
  if (last < 0 || last >= parent.size)
    return bad(Code::kOutOfRange,
               fmt::format("{}: start {}, stride {} and size {} end at rank {}; the "
                           "parent has ranks 0 to {}",
                           caller_or("split_strided"), start, stride, size, last, parent.size - 1));
  Pes pes;
  for (int i = 0; i < size; ++i) pes.push_back(parent.pe_of(start + i * stride));
  return pes;
}

Result<Pes> listed_members(const Team& parent, const std::vector<int>& ranks) {
  if (ranks.empty())
    return bad(Code::kInvalidArgument,
               fmt::format("{}: argument ranks is empty; a team has at least one member",
                           caller_or("team_from_list")));
  std::vector<bool> seen(static_cast<std::size_t>(parent.size));
  Pes pes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank < 0 || rank >= parent.size)
      return bad(Code::kOutOfRange,
                 fmt::format("{}: ranks[{}] is {}; the parent has ranks 0 to {}",
                             caller_or("team_from_list"), i, rank, parent.size - 1));
    if (seen[static_cast<std::size_t>(rank)])
      return bad(Code::kInvalidArgument,
                 fmt::format("{}: ranks[{}] is {}, which is in the list already",
                             caller_or("team_from_list"), i, rank));
    seen[static_cast<std::size_t>(rank)] = true;
    pes.push_back(parent.pe_of(rank));
  }
  return pes;
}

Result<Grid2d> grid_members(const Team& parent, int xrange, int rank) {
  if (xrange < 1)
    return bad(Code::kInvalidArgument,
               fmt::format("{}: argument xrange is {}; a row has at least 1 rank",
                           caller_or("split_2d"), xrange));
  const int row = std::min(xrange, parent.size);
  Grid2d grid;
  for (int r = rank / row * row; r < parent.size && r < (rank / row + 1) * row; ++r)
    grid.x.push_back(parent.pe_of(r));
  for (int r = rank % row; r < parent.size; r += row) grid.y.push_back(parent.pe_of(r));
  return grid;
}

std::optional<Team> strided_team(const Pes& pes) {
  Team team;
  team.start = pes.front();
  team.size = static_cast<std::int32_t>(pes.size());
  team.stride = pes.size() > 1 ? pes[1] - pes[0] : 1;
  for (std::size_t i = 1; i < pes.size(); ++i)
    if (pes[i] - pes[i - 1] != team.stride) return std::nullopt;
  return team;
}

int rank_in(const Pes& pes, int pe) {
  const auto found = std::find(pes.begin(), pes.end(), pe);
  return found == pes.end() ? -1 : static_cast<int>(found - pes.begin());
}

IdMask::IdMask(int ids) : bits_(words(ids)) {
  for (int id = 0; id < ids; ++id) give(id);
}

int IdMask::lowest(const std::uint64_t* bits, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i)
    if (bits[i] != 0) return static_cast<int>(64 * i) + __builtin_ctzll(bits[i]);
  return -1;
}

}  // namespace weft
