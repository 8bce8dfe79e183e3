#include "kernels/c_api/team.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::c_api {
namespace {

// make(parent) is a Result<Team>.
template <class Make>
Status create(const char* name, weft_runtime_t* runtime, const weft_team_t* parent,
              weft_team_t** made, const Make& make) {
  if (runtime == nullptr) return refuse_null(name, "the runtime");
  if (made == nullptr) return refuse_null(name, "made");
  ASSIGN_OR_RETURN(const Team whole, team_of(name, "parent", *runtime, parent));
  ASSIGN_OR_RETURN(const Team team, make(whole));
  *made = new weft_team_t{runtime, team};
  return Status::ok();
}

}  // namespace

Result<Team> team_of(const char* name, const char* argument, const weft_runtime_t& runtime,
                     const weft_team_t* team) {
  if (team == nullptr) return runtime.runtime.world();
  if (team->runtime == &runtime) return team->team;
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: {} is a team of another runtime than the one given; make "
                                   "it by weft_team_split_strided or weft_team_from_list of this",
                                   name, argument));
}

}  // namespace weft::kernels::c_api

namespace c_api = weft::kernels::c_api;

extern "C" {

int weft_team_split_strided(weft_runtime_t* runtime, const weft_team_t* parent, int start,
                            int stride, int size, weft_team_t** made) {
  return c_api::code_of(
      c_api::create("weft_team_split_strided", runtime, parent, made, [&](const weft::Team& whole) {
        return runtime->runtime.split_strided(whole, start, stride, size);
      }));
}
int weft_team_from_list(weft_runtime_t* runtime, const weft_team_t* parent, const int* ranks,
                        size_t count, weft_team_t** made) {
  constexpr const char* kName = "weft_team_from_list";
  if (ranks == nullptr && count != 0) return c_api::code_of(c_api::refuse_null(kName, "ranks"));
  return c_api::code_of(c_api::create(kName, runtime, parent, made, [&](const weft::Team& whole) {
    return runtime->runtime.team_from_list(whole, std::vector<int>(ranks, ranks + count));
  }));
}
int weft_team_rank(const weft_team_t* team) { return team != nullptr ? team->team.rank : -1; }
int weft_team_size(const weft_team_t* team) { return team != nullptr ? team->team.size : 0; }
int weft_team_destroy(weft_team_t* team) {
  weft::Status status;
  if (team != nullptr && team->team.is_member())
    status = team->runtime->runtime.destroy(team->team);
  delete team;
  return c_api::code_of(std::move(status));
}
}
