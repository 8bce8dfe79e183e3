// Words of a GEMM that is added up over the members
// (kernels/fused/gemm_reduce_scatter/one_kernel_space.hpp), as threads of its kernel have them:
// sent to whoever adds them up, waited for, added up.
#pragma once

#include <type_traits>

#include <weft/device.hpp>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_kernels_sm90.hpp"
#include "kernels/gemm/epilogue_sm90.hpp"
#include "kernels/protocol/sendable.hpp"

namespace weft::kernels::sm90 {

// words[j] of some words lies first + j * stride words into a slot, if have(j), and is added up by
// the rank owner(j); in one shot by all, and that is mine.
//
// The code between a thread's last wgmma and its first poll is on the way of every call: so the
// owners of words are known before, and conditions are joined without branches.
template <class T>
class OneKernelLamport {
  using Reduction = gemm_rs::Reduction;

 public:
  using Pair = dev::LamportPair;
  // `failed_round`: the round in which a wait has failed, or 0.
  __device__ OneKernelLamport(const OneKernelMembers& members, Reduction reduction,
                              std::uint64_t round, std::uint64_t failed_round)
      : m_(members),
        reduction_(reduction),
        round_(round),
        ok_(failed_round == 0),
        sends_(ok_ || failed_round == round) {}

  // False: somebody did not come.
  __device__ bool ok() const { return ok_; }
  __device__ void finish() const {
    gemm_rs::Record* const record = m_.space.record;
    if (!ok_ && record->failed_round == 0) record->failed_round = round_;
  }

  static __device__ __forceinline__ std::uint64_t joined(std::uint32_t left, std::uint32_t right) {
    return sendable(std::uint64_t{right} << 32 | left);
  }

  // By one thread.
  __device__ __forceinline__ void handshake() {
    // A member that sends in later rounds overwrites what a late member reads.
    if (!sends_) return;
    const std::uint64_t my_offset = m_.space.handshake_offset(round_, m_.team.rank);
    for (int rank = 0; rank < m_.team.size; ++rank)
      if (rank != m_.team.rank) dev::send_lamport(m_.words[rank] + my_offset, round_);
    const auto awaited = [&](int rank) -> dev::AwaitedLamport {
      if (rank >= m_.team.size || rank == m_.team.rank) return {nullptr, -1};
      return {m_.space.words + m_.space.handshake_offset(round_, rank), m_.team.pe_of(rank)};
    };
    std::uint64_t handshakes[kMostMembers];
    if (ok_) ok_ = dev::receive_lamport<kMostMembers>(m_.handle, name(), awaited, handshakes);
  }

  template <class Word, int kMany, class Have, class Owner>
  __device__ __forceinline__ void send(std::uint64_t first, int stride, Have have, Owner owner,
                                       const Word (&words)[kMany]) const {
    if (!sends_) return;
    if (reduction_ == Reduction::kOneShot) return send_to_all(first, stride, have, words);
    first += m_.space.slot_offset(round_, m_.team.rank);
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      if (have(j) && owner(j) != m_.team.rank)
        send_one(m_.words[owner(j)] + first + j * stride, words[j]);
  }

  // For two members, behind send(): my words that are mine(j) to add up become the sum of all.
  template <class Word, int kMany, class Mine>
  __device__ __forceinline__ void add_two(std::uint64_t first, int stride, Mine mine,
                                          Word (&words)[kMany]) {
    const int other = 1 - m_.team.rank;
    std::uint64_t* const from = slot_of(other, first);
    Word parts[kMany] = {};
    take(
        parts, [&](int j) { return mine(j) ? from + j * stride : nullptr; },
        [&](int) { return other; });
    // In either order, and in their own type: a float has twice the digits and two, so that a
    // float's sum, rounded, is the same (Figueroa, When is double rounding innocuous?, 1995).
#pragma unroll
    for (int j = 0; j < kMany; ++j) words[j] = sum_of(words[j], parts[j]);
  }

  // For more members: in rank order, as floats, rounded once; what I have is own(j), which words[j]
  // may be. In two shots the sum is sent to all. A Word is one, or a pair.
  template <class Word, int kMany, class Mine, class Own>
  __device__ __forceinline__ void add_more(std::uint64_t first, int stride, Mine mine, Own own,
                                           Word (&words)[kMany]) {
    const int rank = m_.team.rank, others = m_.team.size - 1;
    float4 sums[kMany * kIn<Word>];
#pragma unroll
    for (float4& sum : sums) sum = {-0.0f, -0.0f, -0.0f, -0.0f};  // what adds nothing
#pragma unroll 1
    for (int base = 0; base < others; base += kOthers) {
      const auto rank_of = [&](int i) {
        const int other = base + i / kMany;
        return other < rank ? other : other + 1;
      };
      std::uint64_t* from[kOthers];
#pragma unroll
      for (int i = 0; i < kOthers; ++i) from[i] = once(slot_of(rank_of(i * kMany), first));
      Word parts[kOthers * kMany] = {};
      take(
          parts,
          [&](int i) {
            const bool is_wanted = (base + i / kMany < others) & mine(i % kMany);
            return is_wanted ? from[i / kMany] + i % kMany * stride : nullptr;
          },
          rank_of);
#pragma unroll
      for (int i = 0; i < kOthers; ++i) {
        if (base + i >= others) break;
        if (base + i == rank) add<kMany>(own, sums);
        add<kMany>([&](int j) { return parts[i * kMany + j]; }, sums);
      }
    }
    if (rank == others) add<kMany>(own, sums);
#pragma unroll
    for (int j = 0; j < kMany; ++j)
      if (mine(j)) pack_into(words[j], sums + j * kIn<Word>);
    // A member whose sum is not whole sends none: the others find out themselves.
    if (reduction_ == Reduction::kTwoShot && ok_) send_to_all(first, stride, mine, words);
  }
  // And words that are theirs(j) become the sum that owner(j) has sent.
  template <class Word, int kMany, class Theirs, class Owner>
  __device__ __forceinline__ void take_sums(std::uint64_t first, int stride, Theirs theirs,
                                            Owner owner, Word (&words)[kMany]) {
    const auto slot = static_cast<std::int64_t>(m_.space.slot_words);
    std::uint64_t* const from = once(slot_of(0, first));
    take(
        words, [&](int j) { return theirs(j) ? from + owner(j) * slot + j * stride : nullptr; },
        owner);
  }

 private:
  __device__ const char* name() const {
    return gemm_rs::name_of(reduction_ == Reduction::kScatter);
  }

  static constexpr int kOthers = 3;  // whose words are polled at once
  template <class Word>
  static constexpr int kIn = sizeof(Word) / sizeof(std::uint64_t);

  // Mine, of what that member sends.
  __device__ __forceinline__ std::uint64_t* slot_of(int sender, std::uint64_t first) const {
    return m_.space.words + m_.space.slot_offset(round_, sender) + first;
  }

  // Known from here on: compilers would work it out for each word anew.
  static __device__ __forceinline__ std::uint64_t* once(std::uint64_t* address) {
    asm volatile("" : "+l"(address));
    return address;
  }

  template <class Word, int kMany, class Have>
  __device__ __forceinline__ void send_to_all(std::uint64_t first, int stride, Have have,
                                              const Word (&words)[kMany]) const {
    const int rank = m_.team.rank, size = m_.team.size;
    first += m_.space.slot_offset(round_, rank);
#pragma unroll 1
    for (int next = 1; next < size; next += kOthers) {
      std::uint64_t* there[kOthers];
#pragma unroll
      for (int i = 0; i < kOthers; ++i) {
        const int other = rank + (next + i < size ? next + i : 0);
        there[i] = once(m_.words[other < size ? other : other - size] + first);
      }
#pragma unroll
      for (int i = 0; i < kOthers; ++i)
#pragma unroll
        for (int j = 0; j < kMany; ++j)
          if ((next + i < size) & have(j)) send_one(there[i] + j * stride, words[j]);
    }
  }
  static __device__ __forceinline__ void send_one(std::uint64_t* there, std::uint64_t word) {
    dev::send_lamport(there, word);
  }
  static __device__ __forceinline__ void send_one(std::uint64_t* there, const Pair& words) {
    dev::send_lamport(reinterpret_cast<Pair*>(there), words);
  }

  // words[j] of slot_of(j), of rank_of(j), unless that is null.
  template <class Word, int kMany, class SlotOf, class RankOf>
  __device__ __forceinline__ void take(Word (&words)[kMany], SlotOf slot_of, RankOf rank_of) {
    using Awaited = std::conditional_t<std::is_same_v<Word, Pair>, dev::AwaitedLamportPair,
                                       dev::AwaitedLamport>;
    if (!ok_) return;
    // Known before the first poll: a poll is loads, of which none waits for another.
    Word* slot[kMany];
#pragma unroll
    for (int j = 0; j < kMany; ++j) slot[j] = reinterpret_cast<Word*>(slot_of(j));
    ok_ = dev::receive_lamport<kMany>(
        m_.handle, name(),
        [&](int j) -> Awaited {
          return {slot[j], m_.team.pe_of(rank_of(j))};
        },
        words);
  }

  static __device__ __forceinline__ std::uint32_t low(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  }
  static __device__ __forceinline__ std::uint32_t high(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static __device__ __forceinline__ std::uint64_t sum_of(std::uint64_t x, std::uint64_t y) {
    return joined(add_pair<T>(low(x), low(y)), add_pair<T>(high(x), high(y)));
  }
  static __device__ __forceinline__ Pair sum_of(const Pair& x, const Pair& y) {
    return {sum_of(x.first, y.first), sum_of(x.second, y.second)};
  }
  static __device__ __forceinline__ std::uint64_t packed(const float4& sum) {
    return joined(pack<T>(sum.x, sum.y), pack<T>(sum.z, sum.w));
  }
  static __device__ __forceinline__ void pack_into(std::uint64_t& word, const float4* sum) {
    word = packed(*sum);
  }
  static __device__ __forceinline__ void pack_into(Pair& words, const float4* sums) {
    words = {packed(sums[0]), packed(sums[1])};
  }
  static __device__ __forceinline__ void add(std::uint64_t word, float4* sum) {
    const float2 left = unpack<T>(low(word)), right = unpack<T>(high(word));
    *sum = {sum->x + left.x, sum->y + left.y, sum->z + right.x, sum->w + right.y};
  }
  static __device__ __forceinline__ void add(const Pair& words, float4* sums) {
    add(words.first, sums);
    add(words.second, sums + 1);
  }
  template <int kMany, class Part, int kSums>
  static __device__ __forceinline__ void add(Part part, float4 (&sums)[kSums]) {
#pragma unroll
    for (int j = 0; j < kMany; ++j) add(part(j), sums + j * (kSums / kMany));
  }

  const OneKernelMembers& m_;
  const Reduction reduction_;
  const std::uint64_t round_;
  bool ok_, sends_;
};

}  // namespace weft::kernels::sm90
