// Collectives that move data: the contents that they start from and must leave, and their baseline.
#pragma once

#include <cstdint>
#include <vector>

#include "perftest/contents.hpp"
#include "perftest/floor/flags.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {

enum class Collective : std::uint8_t { kBroadcast, kFcollect, kCollect, kAlltoall, kAlltoalls };

class CollectiveData : public Test {
 public:
  CollectiveData(Job& job, const Point& point, Collective kind);

  Status allocate();
  Status prepare() override;
  Result<Ns> run_floor(Count iters) override;
  Status check() override;
  Work work() const override;

 protected:
  static constexpr int kRoot = 0;
  // Elements that `rank` contributes to collect: everybody another number.
  std::size_t count_of(int rank) const;

  Job& job_;
  const Point point_;
  const Collective kind_;
  const std::size_t element_, count_, stride_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;

 private:
  // The message of `from` to `to`: `count` runs of `bytes`, `apart` bytes from one to the next.
  struct Piece {
    std::size_t src, dst, bytes, count = 1, apart = 0;
  };
  Piece piece(int from, int to) const;
  std::size_t src_bytes() const;
  std::size_t dst_bytes() const;
  Status map_peers();

  std::vector<std::byte> wanted_;
  floor::FlagBarrier flags_;
  std::vector<std::byte*> mapped_;  // dst_ of every PE
  std::vector<Piece> outgoing_;     // to every PE
};

inline constexpr std::string_view kCollectiveBaseline =
    "memcpy to every mapping, then a barrier of flags by hand";

}  // namespace weft::perf
