// Words of a product that is added up over the members (kernels/gemm_rs/direct_space.hpp), as
// threads of its kernel have them: sent to whoever adds them up, waited for, added up.
#pragma once

#include <weft/device.hpp>

#include "kernels/core/sendable.hpp"
#include "kernels/gemm/sink_sm90.hpp"
#include "kernels/gemm_rs/direct_kernels_sm90.hpp"

namespace weft::kernels::sm90 {

// Of some words, words[j] has the place first + j * kStride in a slot, if have(j), and is added up
// by the rank owner(j); in one shot by all, and that is mine.
template <class T>
class DirectWords {
  using Way = gemm_rs::Way;

 public:
  // `broken`: the round in which a wait has failed, or 0.
  __device__ DirectWords(const DirectMembers& members, Way way, std::uint64_t round,
                         std::uint64_t broken)
      : m_(members), way_(way), round_(round), ok_(broken == 0), sends_(ok_ || broken == round) {}

  // False: somebody did not come.
  __device__ bool ok() const { return ok_; }
  __device__ void finish() const {
    gemm_rs::Record* const record = m_.space.record;
    if (!ok_ && record->broken == 0) record->broken = round_;
  }

  static __device__ __forceinline__ std::uint64_t joined(std::uint32_t left, std::uint32_t right) {
    return sendable(std::uint64_t{right} << 32 | left);
  }

  // By one thread.
  __device__ __forceinline__ void greet() {
    // Who sends in later rounds overwrites what a late member reads.
    if (!sends_) return;
    const std::uint64_t my_place = m_.space.greeting_offset(round_, m_.team.rank);
    for (int rank = 0; rank < m_.team.size; ++rank)
      if (rank != m_.team.rank) dev::send_word(m_.words[rank] + my_place, round_);
    const auto awaited = [&](int rank) -> dev::AwaitedWord {
      if (rank >= m_.team.size || rank == m_.team.rank) return {nullptr, -1};
      return {m_.space.words + m_.space.greeting_offset(round_, rank), m_.team.pe_of(rank)};
    };
    std::uint64_t greetings[kMostMembers];
    if (ok_) ok_ = dev::take_words<kMostMembers>(m_.handle, name(), awaited, greetings);
  }

  template <int kStride, int kMany, class Have, class Owner>
  __device__ __forceinline__ void send(std::uint64_t first, Have have, Owner owner,
                                       const std::uint64_t (&words)[kMany]) const {
    if (!sends_) return;
    if (way_ == Way::kOneShot) return send_to_all<kStride>(first, have, words);
    first += m_.space.slot_offset(round_, m_.team.rank);
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      if (have(j) && owner(j) != m_.team.rank)
        dev::send_word(m_.words[owner(j)] + first + j * kStride, words[j]);
  }

  // Then: what I have of words that are mine to add up becomes the sum of all. Of two members.
  template <int kStride, int kMany, class Have, class Owner>
  __device__ __forceinline__ void add_two(std::uint64_t first, Have have, Owner owner,
                                          std::uint64_t (&words)[kMany]) {
    const int other = 1 - m_.team.rank;
    std::uint64_t parts[kMany] = {};
    take<kStride>(
        first, [&](int j) { return have(j) && owner(j) == m_.team.rank; },
        [&](int) { return other; }, parts);
    // In either order, and in their own type: a float has twice the digits and two, so that a
    // float's sum, rounded, is the same (Figueroa, When is double rounding innocuous?, 1995).
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      words[j] = joined(add_pair<T>(low(words[j]), low(parts[j])),
                        add_pair<T>(high(words[j]), high(parts[j])));
  }

  // Of more: in rank order, as floats, rounded once. In two shots that is sent, and words that are
  // others' become the sum, too. Looks for kRanks members' words at once.
  template <int kStride, int kRanks, int kMany, class Have, class Owner>
  __device__ __forceinline__ void add_more(std::uint64_t first, Have have, Owner owner,
                                           std::uint64_t (&words)[kMany]) {
    const Team& team = m_.team;
    const auto mine = [&](int j) { return have(j) && owner(j) == team.rank; };
    float4 sums[kMany] = {};
#pragma unroll 1
    for (int base = 0; base < team.size; base += kRanks) {
      const auto rank_of = [&](int i) { return base + i / kMany; };
      std::uint64_t parts[kRanks * kMany] = {};
      take<0>(
          first,
          [&](int i) {
            return rank_of(i) < team.size && rank_of(i) != team.rank && mine(i % kMany);
          },
          rank_of, parts, [&](int i) { return i % kMany * kStride; });
#pragma unroll
      for (int i = 0; i < kRanks * kMany; ++i) {
        if (rank_of(i) >= team.size) continue;
        const std::uint64_t part = rank_of(i) == team.rank ? words[i % kMany] : parts[i];
        sums[i % kMany] = added(rank_of(i) == 0, sums[i % kMany], part);
      }
    }
    if (!ok_) return;  // the others find out themselves
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      if (mine(j)) words[j] = packed(sums[j]);
    if (way_ != Way::kTwoShots) return;
    send_to_all<kStride>(first, mine, words);
    take<kStride>(
        first, [&](int j) { return have(j) && !mine(j); }, owner, words);
  }

 private:
  __device__ const char* name() const { return gemm_rs::name_of(way_ == Way::kScatter); }

  template <int kStride, int kMany, class Have>
  __device__ __forceinline__ void send_to_all(std::uint64_t first, Have have,
                                              const std::uint64_t (&words)[kMany]) const {
    first += m_.space.slot_offset(round_, m_.team.rank);
    for (int i = 1; i < m_.team.size; ++i) {
      const int rank = m_.team.rank + i;
      std::uint64_t* const there =
          m_.words[rank < m_.team.size ? rank : rank - m_.team.size] + first;
#pragma unroll
      for (int j = 0; j < kMany; ++j)
        if (have(j)) dev::send_word(there + j * kStride, words[j]);
    }
  }

  // words[j], if wanted(j), is what that rank has sent.
  template <int kStride, int kMany, class Wanted, class RankOf>
  __device__ __forceinline__ void take(std::uint64_t first, Wanted wanted, RankOf rank_of,
                                       std::uint64_t (&words)[kMany]) {
    take<kStride>(first, wanted, rank_of, words, [](int j) { return j * kStride; });
  }
  template <int kStride, int kMany, class Wanted, class RankOf, class Behind>
  __device__ __forceinline__ void take(std::uint64_t first, Wanted wanted, RankOf rank_of,
                                       std::uint64_t (&words)[kMany], Behind behind) {
    if (!ok_) return;
    // Known before the first look: a look is loads, of which none waits for another.
    std::uint64_t* place[kMany];
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      place[j] = wanted(j)
                     ? m_.space.words + m_.space.slot_offset(round_, rank_of(j)) + first + behind(j)
                     : nullptr;
    ok_ = dev::take_words<kMany>(
        m_.handle, name(),
        [&](int j) -> dev::AwaitedWord {
          return {place[j], m_.team.pe_of(rank_of(j))};
        },
        words);
  }

  static __device__ __forceinline__ std::uint32_t low(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  }
  static __device__ __forceinline__ std::uint32_t high(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static __device__ __forceinline__ std::uint64_t packed(const float4& sum) {
    return joined(pack<T>(sum.x, sum.y), pack<T>(sum.z, sum.w));
  }
  static __device__ __forceinline__ float4 added(bool is_first, const float4& sum,
                                                 std::uint64_t part) {
    const float2 left = unpack<T>(low(part)), right = unpack<T>(high(part));
    if (is_first) return {left.x, left.y, right.x, right.y};
    return {sum.x + left.x, sum.y + left.y, sum.z + right.x, sum.w + right.y};
  }

  const DirectMembers& m_;
  const Way way_;
  const std::uint64_t round_;
  bool ok_, sends_;
};

}  // namespace weft::kernels::sm90
