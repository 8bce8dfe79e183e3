#include "kernels/gemm_rs/impl.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/copy_rows.hpp"
#include "kernels/core/share.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/arguments.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr const char* kName = "GemmRs";

Status refuse(const std::string& text) {
  return Status::error(Code::kInvalidArgument, std::string(kName) + ": " + text);
}

bool pays(const Shape& shape, const gemm::Machine& machine, int tile) {
  return overlapped(shape, machine, tile).us < sequential_us(shape, machine, tile);
}

}  // namespace

Status Impl::make_sequence(Runtime& runtime) {
  GemmProblem whole = p_;
  const auto each = static_cast<std::size_t>(
      shares(static_cast<std::size_t>(p_.m), static_cast<std::size_t>(team_size_)));
  if (team_size_ > 1) {
    const auto columns = static_cast<std::size_t>(stride());
    whole.ldc = stride();
    const std::size_t row = columns * bytes_of(p_.dtype);
    ASSIGN_OR_RETURN(product_, SymmetricMemory::create(
                                   runtime, static_cast<std::size_t>(team_size_) * each * row));
    ASSIGN_OR_RETURN(my_rows_, SymmetricMemory::create(runtime, each * row));
    CollectiveProblem scatter;
    scatter.max_count = each * columns;
    scatter.dtype = p_.dtype;
    auto made = ReduceScatter::create(runtime, team_, scatter);
    if (!made) return std::move(made).status();
    scatter_.emplace(std::move(*made));
  }
  auto made = Gemm::create(runtime, whole, options_);
  if (!made) return std::move(made).status();
  gemm_.emplace(std::move(*made));
  return Status::ok();
}

Result<std::unique_ptr<Impl>> Impl::create(Runtime& runtime, const Team& team,
                                           const GemmProblem& problem,
                                           const GemmRsOptions& options) {
  GemmProblem complete;
  ASSIGN_OR_RETURN(complete, gemm::checked(kName, problem));
  RETURN_IF_ERROR(gemm::check_options(kName, options.gemm));
  std::unique_ptr<Impl> made(new Impl(team, complete, options.gemm));
  Target target{};
  ASSIGN_OR_RETURN(target, target_of(runtime));
  made->gpu_ = target == Target::kCuda;
  ASSIGN_OR_RETURN(made->team_size_,
                   agree_on(runtime, kName, team, complete,
                            static_cast<std::uint64_t>(options.algorithm), options.gemm));
  const auto which = [&](GemmRsAlgorithm all) {
    if (options.algorithm == GemmRsAlgorithm::kAuto) return Which::kThatPay;
    return options.algorithm == all ? Which::kAll : Which::kNone;
  };
  auto direct = Direct::create(runtime, team, made->team_size_, complete, options.gemm, made->gpu_,
                               which(GemmRsAlgorithm::kDirect), true);
  if (!direct) return std::move(direct).status();
  made->direct_.emplace(std::move(*direct));
  auto overlapped =
      Overlapped::create(runtime, kName, team, made->team_size_, complete, options.gemm, made->gpu_,
                         which(GemmRsAlgorithm::kOverlapped), pays);
  if (!overlapped) return std::move(overlapped).status();
  made->overlapped_.emplace(std::move(*overlapped));
  RETURN_IF_ERROR(made->make_sequence(runtime));
  RETURN_IF_ERROR(runtime.barrier());
  return made;
}

std::size_t Impl::workspace_bytes() const {
  return direct_->workspace_bytes() + overlapped_->workspace_bytes() + product_.bytes() +
         my_rows_.bytes() + (scatter_ ? scatter_->workspace_bytes() : 0);
}

std::int64_t Impl::rows(std::int64_t m) const {
  if (!team_.is_member()) return 0;
  const std::int64_t each = (m + team_.size - 1) / team_.size;
  return std::clamp<std::int64_t>(m - team_.rank * each, 0, each);
}

std::string Impl::describe() const {
  std::string text = fmt::format("gemm_rs m={} n={} k={} {} of {} PEs: ", p_.m, p_.n, p_.k,
                                 to_string(p_.dtype), team_size_);
  for (const std::string& at_once : {direct_->describe(), overlapped_->describe()})
    if (!at_once.empty()) text += at_once + "; else ";
  return text + gemm_->describe() + (scatter_ ? ", then ReduceScatter" : "");
}

Status Impl::check_call(const void* c, const void* a, const void* b, std::int64_t m) const {
  if (!team_.is_member()) return refuse("this PE is no member of the operator's team");
  if (m < 0 || m > p_.m) return refuse(fmt::format("m is {}; it was planned for 0 to {}", m, p_.m));
  if (m == 0 || p_.n == 0) return Status::ok();
  if (rows(m) > 0) RETURN_IF_ERROR(gemm::check_pointer(kName, "c", c));
  if (p_.k == 0) return Status::ok();
  RETURN_IF_ERROR(gemm::check_pointer(kName, "a", a));
  return gemm::check_pointer(kName, "b", b);
}

Status Impl::run_sequence(Stream stream, void* c, const void* a, const void* b,
                          std::int64_t m) const {
  if (team_size_ == 1) return (*gemm_)(stream, c, a, b, m);
  const std::int64_t each = (m + team_size_ - 1) / team_size_, mine = rows(m);
  RETURN_IF_ERROR((*gemm_)(stream, product_.as<void>(), a, b, m));
  const bool is_close = p_.ldc == p_.n && p_.n == stride() && mine == each;
  RETURN_IF_ERROR((*scatter_)(stream, is_close ? c : my_rows_.as<void>(), product_.as<void>(),
                              static_cast<std::size_t>(each * stride())));
  if (is_close) return Status::ok();
  const std::size_t element = bytes_of(p_.dtype);
  return copy_rows(
      gpu_, stream,
      {c, my_rows_.as<void>(), static_cast<std::size_t>(mine),
       static_cast<std::size_t>(p_.n) * element, static_cast<std::size_t>(p_.ldc) * element,
       static_cast<std::size_t>(stride()) * element});
}

Status Impl::run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const {
  RETURN_IF_ERROR(check_call(c, a, b, m));
  if (m == 0 || p_.n == 0) return Status::ok();
  if (direct_->takes(m)) return direct_->run(stream, c, a, b, m);
  if (overlapped_->takes(m)) return overlapped_->run(stream, c, a, b, m);
  return run_sequence(stream, c, a, b, m);
}

}  // namespace weft::kernels::gemm_rs
