// Members of a team. Pure: rules of the splits, and the shape of a list of PEs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <weft/result.hpp>
#include <weft/team.hpp>

namespace weft {

using Pes = std::vector<std::int32_t>;  // in rank order

// `size` ranks of the parent: start, start + stride, ...
Result<Pes> strided_members(const Team& parent, int start, int stride, int size);
// The given ranks of the parent.
Result<Pes> listed_members(const Team& parent, const std::vector<int>& ranks);
// The row and the column of rank `rank`, when the parent's ranks fill rows of `xrange`.
struct Grid2d {
  Pes x, y;
};
Result<Grid2d> grid_members(const Team& parent, int xrange, int rank);

// A strided team if the PEs are evenly spaced, else none: such a team needs a list.
std::optional<Team> strided_team(const Pes& pes);
int rank_in(const Pes& pes, int pe);  // -1: not there

// Which team ids are free, one bit each: PEs AND theirs to find one that all have free.
class IdMask {
 public:
  explicit IdMask(int ids);  // all free
  static std::size_t words(int ids) { return (static_cast<std::size_t>(ids) + 63) / 64; }
  void take(int id) { bits_[word(id)] &= ~bit(id); }
  void give(int id) { bits_[word(id)] |= bit(id); }
  bool is_free(int id) const { return (bits_[word(id)] & bit(id)) != 0; }
  const std::vector<std::uint64_t>& bits() const { return bits_; }
  // The lowest free id in the words of a mask; -1: none.
  static int lowest(const std::uint64_t* bits, std::size_t words);

 private:
  static std::size_t word(int id) { return static_cast<std::size_t>(id) / 64; }
  static std::uint64_t bit(int id) { return std::uint64_t{1} << (id % 64); }
  std::vector<std::uint64_t> bits_;
};

}  // namespace weft
