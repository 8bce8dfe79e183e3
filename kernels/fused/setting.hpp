// Setting: what an operator that fuses a GEMM with a collective was given, and what its PEs have
// agreed on. The same for all its strategies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/kernels/plan.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/team.hpp>

#include "kernels/collectives/collective_impl.hpp"
#include "kernels/core/exchange.hpp"
#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"
#include "kernels/gemm/plan.hpp"

namespace weft::kernels::fused {

// One call of the operators that end in a GEMM or begin with one.
struct GemmCall {
  void* c;
  const void* a;
  const void* b;
  std::int64_t m;
  void* gathered = nullptr;  // AllGather-GEMM only
};

// Elements from row to row where collectives work on rows, so that each begins at a multiple of 16
// bytes.
constexpr std::int64_t packed_stride(std::int64_t columns) { return (columns + 7) / 8 * 8; }

// The strategies that an operator may use for a call: those that are expected to be fastest, or one
// that the options name, or not this one.
enum class Which { kNone, kThatPay, kAll };

struct Setting {
  const char* who;
  Team team;
  GemmProblem problem;  // checked, strides and all
  GemmOptions options;
  gemm::Device device = {};
  bool gpu = false;
  Agreement agreement = {};
  std::vector<PlanRow> table = {};  // for the collectives of a strategy

  bool is_empty() const {
    return problem.m == 0 || problem.n == 0 || problem.k == 0 || agreement.team_size == 1;
  }
  // PEs that have the same GPU have a part of it each, unless the options name a part.
  bool shares_gpu() const { return gpu && options.num_sms == 0; }
  // The text names the operator and the argument. `rows`: of c that this PE has.
  Status check_call(const GemmCall& call, std::int64_t rows) const;
  // A collective that a strategy goes on with, or begins with.
  template <class Impl>
  Result<std::unique_ptr<Impl>> collective(Runtime& runtime, Collective what,
                                           std::size_t max_count) const {
    CollectiveProblem of_part;
    of_part.max_count = max_count;
    of_part.dtype = problem.dtype;
    auto made = std::make_unique<Impl>(runtime, what, of_part);
    RETURN_IF_ERROR(made->join(team, agreement, table));
    return made;
  }
};

// Begins a setting: the checks of what the operator was given.
Result<Setting> begin(const Runtime& runtime, const char* who, const Team& team,
                      const GemmProblem& problem, const GemmOptions& options);
// Fills in what all PEs agree on. `more`: what the operator was given besides its problem and its
// GEMM's options; `measures`: see Facts. Collective over the job.
Status agree(Runtime& runtime, std::vector<Given> more, std::vector<std::uint64_t> measures,
             Setting* setting);

// A device model as measures of which each PE's smallest counts, and back, from the `number`-th of
// the models that were exchanged.
std::vector<std::uint64_t> measures_of(const DeviceModel& device);
DeviceModel model_of(const Agreement& agreement, std::size_t number);
// A PE's part of a GPU that so many share.
DeviceModel part_of(DeviceModel device, int sharers);

}  // namespace weft::kernels::fused
