#include "kernels/fused/setting.hpp"

#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kernels/collectives/table_file.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/arguments.hpp"

namespace weft::kernels::fused {

Status Setting::check_call(const GemmCall& call, std::int64_t rows) const {
  const auto refuse = [&](const std::string& text) {
    return Status::error(Code::kInvalidArgument, std::string(who) + ": " + text);
  };
  if (!team.is_member()) return refuse("this PE is no member of the operator's team");
  if (call.m < 0 || call.m > problem.m)
    return refuse(fmt::format("m is {}; it was planned for 0 to {}", call.m, problem.m));
  const bool multiplies = call.m > 0 && problem.n > 0;
  const bool has_rows = call.m > 0 && problem.k > 0;
  if (multiplies && rows > 0) RETURN_IF_ERROR(gemm::check_pointer(who, "c", call.c));
  if (has_rows && (multiplies || call.gathered != nullptr))
    RETURN_IF_ERROR(gemm::check_pointer(who, "a", call.a));
  if (call.m > 0 && call.gathered != nullptr)
    RETURN_IF_ERROR(gemm::check_pointer(who, "gathered", call.gathered));
  if (multiplies && has_rows) RETURN_IF_ERROR(gemm::check_pointer(who, "b", call.b));
  if (call.m > 0 && call.gathered != nullptr && problem.k % 8 != 0)
    return refuse(
        fmt::format("gathered is not null, and k is {}; it has to be a multiple of 8, so "
                    "that rows begin at multiples of 16 bytes",
                    problem.k));
  return Status::ok();
}

Result<Setting> begin(const Runtime& runtime, const char* who, const Team& team,
                      const GemmProblem& problem, const GemmOptions& options) {
  Setting setting{who, team, {}, options};
  ASSIGN_OR_RETURN(setting.problem, gemm::checked(who, problem));
  RETURN_IF_ERROR(gemm::check_options(who, options));
  ASSIGN_OR_RETURN(const Target target, target_of(runtime));
  ASSIGN_OR_RETURN(setting.device, gemm::current_device(target));
  setting.gpu = target == Target::kCuda;
  return setting;
}

Status agree(Runtime& runtime, std::vector<Given> more, std::vector<std::uint64_t> measures,
             Setting* setting) {
  const GemmProblem& p = setting->problem;
  const GemmOptions& o = setting->options;
  Facts facts{setting->who,
              {{"m", static_cast<std::uint64_t>(p.m)},
               {"n", static_cast<std::uint64_t>(p.n)},
               {"k", static_cast<std::uint64_t>(p.k)},
               {"dtype", static_cast<std::uint64_t>(p.dtype)},
               {"options.gemm.backend", static_cast<std::uint64_t>(o.backend)},
               {"options.gemm.num_sms", static_cast<std::uint64_t>(o.num_sms)},
               {"options.gemm.tile (a hash of it)", std::hash<std::string>()(o.tile)}},
              std::move(measures)};
  facts.given.insert(facts.given.end(), more.begin(), more.end());
  const TableFile file(runtime, setting->who);
  facts.from_first = file.rows();
  ASSIGN_OR_RETURN(setting->agreement, exchange(runtime, setting->team, facts));
  ASSIGN_OR_RETURN(setting->table, file.share(runtime, setting->agreement.from_first));
  return Status::ok();
}

std::vector<std::uint64_t> measures_of(const DeviceModel& device) {
  std::vector<std::uint64_t> measures = {static_cast<std::uint64_t>(device.num_sms)};
  measures.insert(measures.end(), device.clusters.begin(), device.clusters.end());
  return measures;
}

DeviceModel model_of(const Agreement& agreement, std::size_t number) {
  DeviceModel device;
  const std::uint64_t* const measures =
      agreement.measures.data() + number * (1 + device.clusters.size());
  device.num_sms = static_cast<int>(measures[0]);
  for (std::size_t i = 0; i < device.clusters.size(); ++i)
    device.clusters[i] = static_cast<int>(measures[1 + i]);
  return device;
}

DeviceModel part_of(DeviceModel device, int sharers) {
  device.num_sms /= sharers;
  for (int& clusters : device.clusters) clusters /= sharers;
  return device;
}

}  // namespace weft::kernels::fused
