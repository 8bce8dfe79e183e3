#include "perftest/tests/collective_data.hpp"

#include <cstring>

#include "perftest/floor/copy.hpp"

namespace weft::perf {

CollectiveData::CollectiveData(Job& job, const Point& point, Collective kind)
    : job_(job),
      point_(point),
      kind_(kind),
      element_(point.type->bytes),
      count_(point.count()),
      stride_(kind == Collective::kAlltoalls ? static_cast<std::size_t>(job.options().stride) : 1) {
}

std::size_t CollectiveData::count_of(int rank) const {
  return count_ -
         count_ * static_cast<std::size_t>(rank) / (2 * static_cast<std::size_t>(job_.npes()));
}

std::size_t CollectiveData::src_bytes() const {
  const bool block_each = kind_ == Collective::kAlltoall || kind_ == Collective::kAlltoalls;
  return point_.bytes * stride_ * (block_each ? static_cast<std::size_t>(job_.npes()) : 1);
}

std::size_t CollectiveData::dst_bytes() const {
  const bool one_block = kind_ == Collective::kBroadcast;
  return point_.bytes * stride_ * (one_block ? 1 : static_cast<std::size_t>(job_.npes()));
}

CollectiveData::Piece CollectiveData::piece(int from, int to) const {
  const std::size_t block = point_.bytes * stride_;
  const auto source = static_cast<std::size_t>(from);
  const auto target = static_cast<std::size_t>(to);
  switch (kind_) {
    case Collective::kBroadcast: return {0, 0, from == kRoot ? block : 0};
    case Collective::kFcollect: return {0, source * block, block};
    case Collective::kAlltoall: return {target * block, source * block, block};
    case Collective::kAlltoalls: break;
    case Collective::kCollect: {
      std::size_t before = 0;
      for (int rank = 0; rank < from; ++rank) before += count_of(rank);
      return {0, before * element_, count_of(from) * element_};
    }
  }
  return {target * block, source * block, element_, count_, stride_ * element_};
}

Status CollectiveData::allocate() {
  ASSIGN_OR_RETURN(src_, job_.symmetric<std::byte>(src_bytes()));
  ASSIGN_OR_RETURN(dst_, job_.symmetric<std::byte>(dst_bytes()));
  return job_.options().floor ? map_peers() : Status::ok();
}

Status CollectiveData::map_peers() {
  ASSIGN_OR_RETURN(flags_, floor::FlagBarrier::create(job_));
  for (int pe = 0; pe < job_.npes(); ++pe) {
    mapped_.push_back(static_cast<std::byte*>(job_.ctx().ptr(dst_, pe)));
    outgoing_.push_back(piece(job_.pe(), pe));
    if (mapped_.back() == nullptr)
      return Status::error(Code::kUnsupported, "a peer's memory is not mapped: no --floor here");
  }
  return Status::ok();
}

// Bytes that no piece covers must stay as they were.
Status CollectiveData::prepare() {
  const std::uint64_t key = job_.fresh_key();
  const auto key_of = [&](int pe) { return mix(key, static_cast<std::uint64_t>(pe)); };
  fill(src_, src_bytes(), key_of(job_.pe()));
  fill(dst_, dst_bytes(), mix(key, ~std::uint64_t{0}));
  wanted_.assign(dst_, dst_ + dst_bytes());
  std::vector<std::byte> theirs(src_bytes());
  for (int from = 0; from < job_.npes(); ++from) {
    fill(theirs.data(), theirs.size(), key_of(from));
    const Piece p = piece(from, job_.pe());
    for (std::size_t at = 0, i = 0; i < p.count && p.bytes != 0; ++i, at += p.apart) {
      std::memcpy(&wanted_[p.dst + at], &theirs[p.src + at], p.bytes);
      complement(dst_ + p.dst + at, &theirs[p.src + at], p.bytes);
    }
  }
  return Status::ok();
}

Result<Ns> CollectiveData::run_floor(Count iters) {
  return time_plain(iters, [&](Count) {
    for (std::size_t pe = 0; pe < mapped_.size(); ++pe) {
      const Piece& p = outgoing_[pe];
      if (p.count == 1) {
        std::memcpy(mapped_[pe] + p.dst, src_ + p.src, p.bytes);
      } else {
        floor::move_strided(mapped_[pe] + p.dst, src_ + p.src, p.bytes, stride_, p.count);
      }
    }
    flags_.wait();
  });
}

Status CollectiveData::check() {
  return expect_equal("the result", job_.pe(), dst_, wanted_.data(), wanted_.size());
}

Work CollectiveData::work() const {
  const double others = job_.npes() - 1;
  const auto bytes = static_cast<double>(point_.bytes);
  return {1, kind_ == Collective::kBroadcast ? bytes : others * bytes};
}

}  // namespace weft::perf
