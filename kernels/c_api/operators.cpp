// The C names of operators: templates, stamped by weft/tables/operators.def.h.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/c_api/convert.hpp"
#include "kernels/c_api/runtime.hpp"
#include "kernels/c_api/team.hpp"

namespace weft::kernels::c_api {
namespace {

// One create(), with the team of those options that have one.
template <class Op, class Problem, class COptions, class Options>
Result<Op> create_cpp(const char* name, weft_runtime_t& runtime, const Problem& problem,
                      const COptions& given, const Options& options) {
  if constexpr (requires { given.team; }) {
    ASSIGN_OR_RETURN(const Team team, team_of(name, "options.team", runtime, given.team));
    return Op::create(runtime.runtime, team, problem, options);
  } else {
    return Op::create(runtime.runtime, problem, options);
  }
}

template <class Handle, class Problem, class Options>
Status create(const char* name, weft_runtime_t* runtime, const Problem* problem,
              const Options* options, Handle** made) {
  if (runtime == nullptr) return refuse_null(name, "the runtime");
  if (problem == nullptr) return refuse_null(name, "the problem");
  if (made == nullptr) return refuse_null(name, "made");
  const Options given = options != nullptr ? *options : Options{};
  ASSIGN_OR_RETURN(const auto cpp_problem, from_c(*problem));
  ASSIGN_OR_RETURN(const auto cpp_options, from_c(given));
  auto op = create_cpp<decltype(Handle::op)>(name, *runtime, cpp_problem, given, cpp_options);
  if (!op) return std::move(op).status();
  *made = new Handle{*std::move(op)};
  return Status::ok();
}

template <class Handle>
Status plan(const char* name, const Handle* handle, std::size_t count, weft_plan* plan) {
  if (handle == nullptr) return refuse_null(name, "the operator");
  if (plan == nullptr) return refuse_null(name, "plan");
  ASSIGN_OR_RETURN(const Plan made, handle->op.plan(count));
  *plan = {algorithm_to_c(made.algorithm), made.blocks, made.threads, made.piece};
  return Status::ok();
}

std::size_t copy_text(const std::string& from, char* text, std::size_t room) {
  if (room == 0) return from.size();
  const std::size_t size = std::min(from.size(), room - 1);
  std::memcpy(text, from.data(), size);
  text[size] = '\0';
  return from.size();
}

template <class Op>
std::size_t workspace_bytes(const Op& op) {
  if constexpr (requires { op.workspace_bytes(); })
    return op.workspace_bytes();
  else
    return 0;
}

}  // namespace
}  // namespace weft::kernels::c_api

namespace c_api = weft::kernels::c_api;

#define WEFT_UNPAREN(...) __VA_ARGS__
#define WEFT_OPERATOR(name, Class, problem, options, parameters, arguments)                  \
  struct weft_##name##_t {                                                                   \
    weft::kernels::Class op;                                                                 \
  };                                                                                         \
  extern "C" {                                                                               \
  int weft_##name##_create(weft_runtime_t* runtime, const problem* what, const options* how, \
                           weft_##name##_t** made) {                                         \
    return c_api::code_of(c_api::create("weft_" #name "_create", runtime, what, how, made)); \
  }                                                                                          \
  int weft_##name(weft_##name##_t* handle, void* stream, WEFT_UNPAREN parameters) {          \
    if (handle == nullptr)                                                                   \
      return c_api::code_of(c_api::refuse_null("weft_" #name, "the operator"));              \
    return c_api::code_of(handle->op(stream, WEFT_UNPAREN arguments));                       \
  }                                                                                          \
  size_t weft_##name##_describe(const weft_##name##_t* handle, char* text, size_t room) {    \
    return c_api::copy_text(handle != nullptr ? handle->op.describe() : "no operator", text, \
                            room);                                                           \
  }                                                                                          \
  size_t weft_##name##_workspace_bytes(const weft_##name##_t* handle) {                      \
    return handle != nullptr ? c_api::workspace_bytes(handle->op) : 0;                       \
  }                                                                                          \
  void weft_##name##_destroy(weft_##name##_t* handle) { delete handle; }                     \
  }
#include <weft/tables/operators.def.h>

#define WEFT_OPERATOR(name, Class, problem, options, parameters, arguments)
#define WEFT_COLLECTIVE(name, Class, problem, options, parameters, arguments)       \
  extern "C" int weft_##name##_plan(const weft_##name##_t* handle, size_t count,    \
                                    weft_plan* made) {                              \
    return c_api::code_of(c_api::plan("weft_" #name "_plan", handle, count, made)); \
  }
#include <weft/tables/operators.def.h>
#undef WEFT_UNPAREN
