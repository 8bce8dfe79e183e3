// Tables of plans as text: what the program weft-tune measures and writes, and what operators
// take where the option WEFT_KERNELS_TABLE names a file (PE 0's, for all PEs).
//
//   weft-kernels-table 1
//   # collective, teams of up to, bytes up to, algorithm, blocks, threads of a block
//   AllReduce 2 16384 ll 32 128
//   AllReduce any any simple 128 512
//
// Words are separated by blanks; what follows a # is a comment. The first row of a collective that
// fits is taken; a size or team for which there is none gets the built-in row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/kernels/plan.hpp>
#include <weft/result.hpp>

namespace weft::kernels {

// `comment`: lines that stand on top, each without its #.
WEFT_API std::string format_table(const std::vector<PlanRow>& rows,
                                  const std::vector<std::string>& comment = {});

// kInvalidArgument: `name` (where the text comes from), the line, what is wrong with it and what
// would be right. Never part of a table.
WEFT_API Result<std::vector<PlanRow>> parse_table(std::string_view text, std::string_view name);

// kIo where the file cannot be read or written.
WEFT_API Result<std::vector<PlanRow>> read_table(const std::string& path);
WEFT_API Status write_table(const std::string& path, const std::vector<PlanRow>& rows,
                            const std::vector<std::string>& comment = {});

}  // namespace weft::kernels
