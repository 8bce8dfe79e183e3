// AgGemm: the strategies that it has, and its interface, which reports what they return.
#include <weft/kernels/ag_gemm.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/all_gather_gemm/overlapped.hpp"
#include "kernels/fused/all_gather_gemm/overlapped_target.hpp"
#include "kernels/fused/all_gather_gemm/plan.hpp"
#include "kernels/fused/all_gather_gemm/sequence.hpp"
#include "kernels/fused/operator.hpp"

namespace weft::kernels::ag_gemm {
namespace {

constexpr const char* kName = "AgGemm";
constexpr unsigned kHostPushBlocks = 2;
constexpr int kHostOverlapFrom = 16, kHostGroupRows = 128;  // rows
constexpr unsigned kMostPushBlocks = 64;

Status refuse(const std::string& text) {
  return Status::error(Code::kInvalidArgument, std::string(kName) + ": " + text);
}

Status check_options(const AgGemmOptions& options) {
  if (options.push_blocks <= kMostPushBlocks) return Status::ok();
  return refuse(fmt::format("options.push_blocks is {}; it has to be 0, for the plan's, to {}",
                            options.push_blocks, kMostPushBlocks));
}

Status check_team(const Team& team, const GemmProblem& problem) {
  if (!team.is_member() || problem.m <= (std::numeric_limits<int>::max() - 4096) / team.size)
    return Status::ok();
  return refuse(fmt::format("m is {} rows of each of {} members; together they may be 2^31 - 4097",
                            problem.m, team.size));
}

// The SMs that a GEMM and the push beside it have; 0: nothing of the kind.
Result<int> own_num_sms([[maybe_unused]] const fused::Setting& setting) {
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (setting.gpu) return gpu_num_sms(setting.options);
#endif
  return 0;
}

Plan host_plan(const fused::Setting& s, const AgGemmOptions& options) {
  Plan made;
  const bool always = options.algorithm == AgGemmAlgorithm::kOverlapped;
  made.push_blocks = options.push_blocks != 0 ? options.push_blocks : kHostPushBlocks;
  made.overlap_from = always ? 1 : kHostOverlapFrom;
  made.is_ring = s.problem.m > kGatherRows;
  made.group_rows = kHostGroupRows;
  return made;
}

// Which calls push beside their GEMM, and how.
Result<Plan> choose(const fused::Setting& s, int num_sms, const AgGemmOptions& options) {
  const GemmProblem& p = s.problem;
  const bool always = options.algorithm == AgGemmAlgorithm::kOverlapped;
  const bool can = !s.is_empty() && s.agreement.maps_all && (!s.gpu || num_sms > 0);
  Plan made;
  made.overlap_from = static_cast<int>(p.m) + 1;
  if (can && options.algorithm != AgGemmAlgorithm::kSequential) {
    if (!s.gpu) return host_plan(s, options);
    ASSIGN_OR_RETURN(const int tile, gemm::tile_named(kName, options.gemm.tile));
    const Shape largest{s.agreement.team_size, static_cast<int>(p.m), static_cast<int>(p.n),
                        static_cast<int>(p.k)};
    made = plan(largest, with_sms({}, num_sms), tile, options.push_blocks, always);
  }
  // Without rows or columns, or alone, there is nothing to do beside one another.
  if (always && made.push_blocks == 0 && !s.is_empty())
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: options.algorithm is kOverlapped, which needs members that map each "
                    "other, and on GPUs those of compute capability 9.0, kernels of Weft's own and "
                    "a tile that neither splits k nor is the largest; leave it kAuto",
                    kName));
  return made;
}

Result<std::unique_ptr<fused::Operator>> create(Runtime& runtime, const Team& team,
                                                const GemmProblem& problem,
                                                const AgGemmOptions& options) {
  RETURN_IF_ERROR(check_options(options));
  ASSIGN_OR_RETURN(fused::Setting setting,
                   fused::begin(runtime, kName, team, problem, options.gemm));
  RETURN_IF_ERROR(check_team(team, setting.problem));
  ASSIGN_OR_RETURN(const int own, own_num_sms(setting));
  RETURN_IF_ERROR(
      fused::agree(runtime,
                   {{"options.algorithm", static_cast<std::uint64_t>(options.algorithm)},
                    {"options.push_blocks", options.push_blocks},
                    given_of(options.arena)},
                   {static_cast<std::uint64_t>(own)}, &setting));
  int num_sms = static_cast<int>(setting.agreement.measures[0]);
  const int sharers = setting.agreement.gpu.sharers;
  if (setting.shares_gpu() && sharers > 1) setting.options.num_sms = num_sms /= sharers;

  ASSIGN_OR_RETURN(const Plan plan, choose(setting, num_sms, options));
  auto made = std::make_unique<fused::Operator>("ag_gemm", setting);
  ASSIGN_OR_RETURN(auto overlapped, Overlapped::create(runtime, setting, plan));
  ASSIGN_OR_RETURN(auto sequence, Sequence::create(runtime, setting,
                                                   std::min<std::int64_t>(setting.problem.m,
                                                                          plan.overlap_from - 1)));
  made->add(std::move(overlapped));
  made->add(std::move(sequence));
  RETURN_IF_ERROR(made->bind(runtime, options.arena));
  return made;
}

}  // namespace
}  // namespace weft::kernels::ag_gemm

namespace weft::kernels {

AgGemm::AgGemm(std::unique_ptr<fused::Operator> made) : operator_(std::move(made)) {}
AgGemm::AgGemm(AgGemm&&) noexcept = default;
AgGemm& AgGemm::operator=(AgGemm&&) noexcept = default;
AgGemm::~AgGemm() = default;

Result<AgGemm> AgGemm::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const AgGemmOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = ag_gemm::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return AgGemm(std::move(*made));
}

Result<AgGemm> AgGemm::create(Runtime& runtime, const GemmProblem& problem,
                              const AgGemmOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status AgGemm::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, operator_->most_rows());
}

Status AgGemm::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                          void* gathered) {
  detail::note_operator("AgGemm");
  return report(operator_->run(stream, {c, a, b, m, gathered}, m));
}

std::string AgGemm::describe() const { return operator_->describe(); }
std::size_t AgGemm::workspace_bytes() const { return operator_->workspace_bytes(); }

}  // namespace weft::kernels
