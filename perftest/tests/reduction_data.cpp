#include "perftest/tests/reduction_data.hpp"

#include <cstring>

#include <fmt/format.h>

namespace weft::perf {

ReductionData::ReductionData(Job& job, const Point& point, Reduction kind)
    : job_(job), point_(point), kind_(kind), count_(point.count()) {}

std::size_t ReductionData::blocks() const {
  return kind_ == Reduction::kReducescatter ? static_cast<std::size_t>(job_.npes()) : 1;
}

std::size_t ReductionData::first() const {
  return kind_ == Reduction::kReducescatter ? static_cast<std::size_t>(job_.pe()) * count_ : 0;
}

int ReductionData::last() const {
  if (kind_ == Reduction::kInclusive) return job_.pe() + 1;
  if (kind_ == Reduction::kExclusive) return job_.pe();
  return job_.npes();
}

Status ReductionData::allocate() {
  ASSIGN_OR_RETURN(src_, job_.symmetric<std::byte>(point_.bytes * blocks()));
  ASSIGN_OR_RETURN(dst_, job_.symmetric<std::byte>(point_.bytes));
  wanted_.resize(point_.bytes);
  if (!job_.options().floor) return Status::ok();
  ASSIGN_OR_RETURN(flags_, floor::FlagBarrier::create(job_));
  for (int pe = 0; pe < job_.npes(); ++pe) {
    mapped_.push_back(static_cast<const std::byte*>(job_.ctx().ptr(src_, pe)));
    if (mapped_.back() == nullptr)
      return Status::error(Code::kUnsupported, "a peer's memory is not mapped: no --floor here");
  }
  return Status::ok();
}

Status ReductionData::prepare() {
  with_element(point_.type->element, [&](auto zero) {
    prepare_as(zero);
    return 0;
  });
  complement(dst_, wanted_.data(), point_.bytes);
  return Status::ok();
}

template <class T>
void ReductionData::prepare_as(T) {
  const std::uint64_t key = job_.fresh_key();
  const auto value = [&](std::size_t i, int pe) {
    return reduction_value<T>(point_.op, key, i, pe, job_.npes());
  };
  auto* const src = reinterpret_cast<T*>(src_);
  for (std::size_t i = 0; i < count_ * blocks(); ++i) src[i] = value(i, job_.pe());
  auto* const wanted = reinterpret_cast<T*>(wanted_.data());
  for (std::size_t i = 0; i < count_; ++i) {
    T result = last() == 0 ? identity<T>(point_.op) : value(first() + i, 0);
    for (int pe = 1; pe < last(); ++pe) result = combine(point_.op, result, value(first() + i, pe));
    wanted[i] = result;
  }
}

Status ReductionData::check() {
  return with_element(point_.type->element, [&](auto zero) { return check_as(zero); });
}

// By value: long double has bytes that mean nothing.
template <class T>
Status ReductionData::check_as(T) const {
  const auto* const seen = reinterpret_cast<const T*>(dst_);
  const auto* const wanted = reinterpret_cast<const T*>(wanted_.data());
  for (std::size_t i = 0; i < count_; ++i)
    if (!(seen[i] == wanted[i]))
      return wrong_data("the result", job_.pe(), fmt::format("element {} of {}", i, count_),
                        fmt::format("{}", seen[i]), fmt::format("{}", wanted[i]));
  return Status::ok();
}

Result<Ns> ReductionData::run_floor(Count iters) {
  return with_element(point_.type->element, [&](auto zero) {
    return time_plain(iters, [&](Count) {
      flags_.wait();  // everyone's source is there
      by_hand(zero);
      flags_.wait();  // and may be used again
    });
  });
}

template <class T>
void ReductionData::by_hand(T) {
  auto* const dst = reinterpret_cast<T*>(dst_);
  const auto source = [&](int pe) {
    return reinterpret_cast<const T*>(mapped_[static_cast<std::size_t>(pe)]) + first();
  };
  if (last() == 0) {
    for (std::size_t i = 0; i < count_; ++i) dst[i] = identity<T>(point_.op);
    return;
  }
  std::memcpy(dst, source(0), point_.bytes);
  for (int pe = 1; pe < last(); ++pe) {
    const T* const theirs = source(pe);
    for (std::size_t i = 0; i < count_; ++i) dst[i] = combine(point_.op, dst[i], theirs[i]);
  }
}

}  // namespace weft::perf
