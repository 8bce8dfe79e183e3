// Behind weft_team_t.
#pragma once

#include <weft/kernels.h>
#include <weft/result.hpp>
#include <weft/team.hpp>

#include "kernels/c_api/runtime.hpp"

struct weft_team_t {
  weft_runtime_t* runtime;
  weft::Team team;
};

namespace weft::kernels::c_api {

// Null: all PEs. kInvalidArgument where the team is another runtime's: `name` is the function,
// `argument` what it was given as.
Result<Team> team_of(const char* name, const char* argument, const weft_runtime_t& runtime,
                     const weft_team_t* team);

}  // namespace weft::kernels::c_api
