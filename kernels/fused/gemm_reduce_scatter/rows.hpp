// How the rows of a GEMM's result are shared out among a team's members.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/team.hpp>

namespace weft::kernels::gemm_rs {

// The last members may have fewer, or none.
constexpr std::int64_t rows_of_each(std::int64_t m, int members) {
  return (m + members - 1) / members;
}
inline std::int64_t rows_of(const Team& team, std::int64_t m) {
  if (!team.is_member()) return 0;
  const std::int64_t each = rows_of_each(m, team.size);
  return std::clamp<std::int64_t>(m - team.rank * each, 0, each);
}

}  // namespace weft::kernels::gemm_rs
