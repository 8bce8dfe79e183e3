#include "kernels/gemm_ar/impl.hpp"

#include <utility>

#include <fmt/format.h>

#include "kernels/core/copy_rows.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/arguments.hpp"

namespace weft::kernels::gemm_ar {
namespace {

constexpr const char* kName = "GemmAr";

Status refuse(const std::string& text) {
  return Status::error(Code::kInvalidArgument, std::string(kName) + ": " + text);
}

bool pays(const gemm_rs::Shape& s, const gemm::Machine& machine, int tile) {
  const double share = 2.0 * (s.members - 1) * s.m * s.n;  // bytes that a member sends
  const double at_once =
      gemm_rs::overlapped(s, machine, tile).us + gemm_rs::all_gather_us(s.members, share);
  const double in_turn = gemm::plan(s.members * s.m, s.n, s.k, machine, tile).us +
                         gemm_rs::all_reduce_us(s.members, share);
  return at_once < in_turn;
}

}  // namespace

Status Impl::make_sequence(Runtime& runtime, const GemmOptions& options) {
  GemmProblem whole = p_;
  if (team_size_ > 1) {
    const auto elements = static_cast<std::size_t>(p_.m * stride());
    if (!is_close()) {
      whole.ldc = stride();
      ASSIGN_OR_RETURN(product_, SymmetricMemory::create(runtime, elements * bytes_of(p_.dtype)));
    }
    CollectiveProblem reduce;
    reduce.max_count = elements;
    reduce.dtype = p_.dtype;
    auto made = AllReduce::create(runtime, team_, reduce);
    if (!made) return std::move(made).status();
    reduce_.emplace(std::move(*made));
  }
  auto made = Gemm::create(runtime, whole, options);
  if (!made) return std::move(made).status();
  gemm_.emplace(std::move(*made));
  return Status::ok();
}

Status Impl::make_gather(Runtime& runtime) {
  if (overlapped_->describe().empty()) return Status::ok();
  CollectiveProblem gather;
  gather.max_count = static_cast<std::size_t>(p_.m / team_size_ * stride());
  gather.dtype = p_.dtype;
  auto made = AllGather::create(runtime, team_, gather);
  if (!made) return std::move(made).status();
  gather_.emplace(std::move(*made));
  return Status::ok();
}

Result<std::unique_ptr<Impl>> Impl::create(Runtime& runtime, const Team& team,
                                           const GemmProblem& problem,
                                           const GemmArOptions& options) {
  GemmProblem complete;
  ASSIGN_OR_RETURN(complete, gemm::checked(kName, problem));
  RETURN_IF_ERROR(gemm::check_options(kName, options.gemm));
  std::unique_ptr<Impl> made(new Impl(team, complete));
  Target target{};
  ASSIGN_OR_RETURN(target, target_of(runtime));
  made->gpu_ = target == Target::kCuda;
  ASSIGN_OR_RETURN(made->team_size_,
                   gemm_rs::agree_on(runtime, kName, team, complete,
                                     static_cast<std::uint64_t>(options.algorithm), options.gemm));
  const auto which = [&](GemmArAlgorithm all) {
    using gemm_rs::Which;
    if (options.algorithm == GemmArAlgorithm::kAuto) return Which::kThatPay;
    return options.algorithm == all ? Which::kAll : Which::kNone;
  };
  auto direct = gemm_rs::Direct::create(runtime, team, made->team_size_, complete, options.gemm,
                                        made->gpu_, which(GemmArAlgorithm::kDirect), false);
  if (!direct) return std::move(direct).status();
  made->direct_.emplace(std::move(*direct));
  GemmProblem rows = complete;
  rows.ldc = made->is_close() ? complete.ldc : made->stride();
  auto overlapped =
      gemm_rs::Overlapped::create(runtime, kName, team, made->team_size_, rows, options.gemm,
                                  made->gpu_, which(GemmArAlgorithm::kOverlapped), pays);
  if (!overlapped) return std::move(overlapped).status();
  made->overlapped_.emplace(std::move(*overlapped));
  RETURN_IF_ERROR(made->make_gather(runtime));
  RETURN_IF_ERROR(made->make_sequence(runtime, options.gemm));
  RETURN_IF_ERROR(runtime.barrier());
  return made;
}

std::size_t Impl::workspace_bytes() const {
  return direct_->workspace_bytes() + overlapped_->workspace_bytes() + product_.bytes() +
         (gather_ ? gather_->workspace_bytes() : 0) + (reduce_ ? reduce_->workspace_bytes() : 0);
}

std::string Impl::describe() const {
  std::string text = fmt::format("gemm_ar m={} n={} k={} {} of {} PEs: ", p_.m, p_.n, p_.k,
                                 to_string(p_.dtype), team_size_);
  const std::string direct = direct_->describe();
  if (!direct.empty()) text += direct + "; else ";
  if (gather_) text += overlapped_->describe() + ", then AllGather; else ";
  return text + gemm_->describe() + (reduce_ ? ", then AllReduce" : "");
}

Status Impl::check_call(const void* c, const void* a, const void* b, std::int64_t m) const {
  if (!team_.is_member()) return refuse("this PE is no member of the operator's team");
  if (m < 0 || m > p_.m) return refuse(fmt::format("m is {}; it was planned for 0 to {}", m, p_.m));
  if (m == 0 || p_.n == 0) return Status::ok();
  RETURN_IF_ERROR(gemm::check_pointer(kName, "c", c));
  if (p_.k == 0) return Status::ok();
  RETURN_IF_ERROR(gemm::check_pointer(kName, "a", a));
  return gemm::check_pointer(kName, "b", b);
}

Status Impl::run_sequence(Stream stream, void* c, const void* a, const void* b,
                          std::int64_t m) const {
  RETURN_IF_ERROR((*gemm_)(stream, c, a, b, m));
  if (team_size_ == 1) return Status::ok();
  return (*reduce_)(stream, c, c, static_cast<std::size_t>(m * stride()));
}

Status Impl::run_overlapped(Stream stream, void* c, const void* a, const void* b,
                            std::int64_t m) const {
  const auto share = static_cast<std::size_t>(m / team_size_ * stride());
  std::byte* const mine = static_cast<std::byte*>(c) +
                          static_cast<std::size_t>(team_.rank) * share * bytes_of(p_.dtype);
  RETURN_IF_ERROR(overlapped_->run(stream, mine, a, b, m));
  return (*gather_)(stream, c, mine, share);
}

Status Impl::run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const {
  RETURN_IF_ERROR(check_call(c, a, b, m));
  if (m == 0 || p_.n == 0) return Status::ok();
  if (direct_->takes(m)) return direct_->run(stream, c, a, b, m);
  const auto run = overlapped_->takes(m) ? &Impl::run_overlapped : &Impl::run_sequence;
  if (team_size_ == 1 || is_close()) return (this->*run)(stream, c, a, b, m);
  RETURN_IF_ERROR((this->*run)(stream, product_.as<void>(), a, b, m));
  const std::size_t element = bytes_of(p_.dtype);
  return copy_rows(
      gpu_, stream,
      {c, product_.as<void>(), static_cast<std::size_t>(m),
       static_cast<std::size_t>(p_.n) * element, static_cast<std::size_t>(p_.ldc) * element,
       static_cast<std::size_t>(stride()) * element});
}

}  // namespace weft::kernels::gemm_ar
