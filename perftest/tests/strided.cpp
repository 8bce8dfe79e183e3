// iput and iget: elements that lie a stride apart, in one call.
#include <cstring>
#include <vector>

#include "perftest/elements.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {
namespace {

class Strided : public Test {
 public:
  Strided(Job& job, const Point& point)
      : job_(job),
        point_(point),
        stride_(static_cast<std::size_t>(job.options().stride)),
        span_(point.bytes * stride_) {}

  Status allocate() {
    ASSIGN_OR_RETURN(src_, job_.symmetric<std::byte>(span_));
    ASSIGN_OR_RETURN(dst_, job_.symmetric<std::byte>(span_));
    wanted_.resize(span_);
    return Status::ok();
  }

  // Bytes between the elements must stay as they were.
  Status prepare() override {
    const std::uint64_t key = job_.fresh_key();
    if (!job_.in_pair()) return Status::ok();
    std::vector<std::byte> theirs(span_);
    fill(src_, span_, mix(key, static_cast<std::uint64_t>(job_.pe())));
    fill(theirs.data(), span_, mix(key, static_cast<std::uint64_t>(job_.peer())));
    complement(dst_, theirs.data(), span_);
    std::memcpy(wanted_.data(), dst_, span_);
    const std::size_t element = point_.type->bytes;
    for (std::size_t at = 0; at < span_; at += element * stride_)
      std::memcpy(&wanted_[at], &theirs[at], element);
    return Status::ok();
  }

  Work work() const override { return {1, static_cast<double>(point_.bytes)}; }

 protected:
  Status check_if(bool written, std::string_view what) const {
    if (!written) return Status::ok();
    return expect_equal(what, job_.pe(), dst_, wanted_.data(), span_);
  }

  Job& job_;
  const Point point_;
  const std::size_t stride_, span_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  std::vector<std::byte> wanted_;
};

template <bool kPut>
class Move : public Strided {
 public:
  using Strided::Strided;

  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) { return move(zero, iters); });
  }

  Result<Ns> run_floor(Count iters) override {
    if (!job_.sends()) return Ns{0};
    void* const to = kPut ? job_.ctx().ptr(dst_, job_.peer()) : dst_;
    const void* const from = kPut ? src_ : job_.ctx().ptr(src_, job_.peer());
    if (to == nullptr || from == nullptr)
      return Status::error(Code::kUnsupported, "the peer's memory is not mapped here");
    return floor::copy_strided(to, from, point_.type->bytes, stride_, point_.count(), iters);
  }

  Status check() override {
    return kPut ? check_if(job_.receives(), "iput") : check_if(job_.sends(), "iget");
  }

 private:
  template <class T>
  Result<Ns> move(T, Count iters) {
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    const auto stride = static_cast<std::ptrdiff_t>(stride_);
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const std::size_t count = point_.count();
    return time_loop(
        iters,
        [=, &ctx](Count) {
          return kPut ? ctx.iput(dst, src, stride, stride, count, peer)
                      : ctx.iget(dst, src, stride, stride, count, peer);
        },
        [&ctx] { return ctx.quiet(); });
  }
};

constexpr unsigned kUses = kUsesSize | kUsesType | kUsesStride;

}  // namespace

std::vector<Row> strided_rows() {
  return {
      {.name = "iput",
       .kind = Kind::kBandwidth,
       .what = "strided put (-i elements apart on both sides), quiet at the end of each batch",
       .formula = "GB/s = size / p50, gaps not counted; p50 = batch / calls",
       .floor = "the same stores by hand",
       .uses = kUses,
       .max = 1u << 20,
       .make = make<Move<true>>},
      {.name = "iget",
       .kind = Kind::kBandwidth,
       .what = "strided get (-i elements apart on both sides)",
       .formula = "GB/s = size / p50, gaps not counted; p50 = batch / calls",
       .floor = "the same loads by hand",
       .uses = kUses,
       .max = 1u << 20,
       .make = make<Move<false>>},
  };
}

}  // namespace weft::perf
