// Adding up what all members have of a part of a tile of mine, as it lies in shared memory: by a
// warp, piece by piece, of what comes through a ring; or by a warp-group, all of it from memory.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/overlapped_ring_sm90.hpp"
#include "kernels/gemm/epilogue_sm90.hpp"

namespace weft::kernels::sm90 {

// Sums of 16 bytes of each member, in rank order, float, rounded once. Mine are rounded before, as
// what travels is.
template <class T>
struct Sums {
  float sums[8] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};  // adding keeps a zero

  __device__ __forceinline__ void add(const uint4& part) {
    const std::uint32_t words[] = {part.x, part.y, part.z, part.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack<T>(words[i]);
      sums[2 * i] += pair.x;
      sums[2 * i + 1] += pair.y;
    }
  }
  __device__ __forceinline__ uint4 rounded() const {
    return {pack<T>(sums[0], sums[1]), pack<T>(sums[2], sums[3]), pack<T>(sums[4], sums[5]),
            pack<T>(sums[6], sums[7])};
  }
};

// The sum of a piece of the part, `own` of a lane on, by a warp: what others have comes through the
// ring.
template <class T, class Ring>
struct PieceSum {
  static constexpr int kUnitBytes = 32 * 16;  // of a warp
  static constexpr int kUnits = kPieceBytes / kUnitBytes;

  static __device__ __forceinline__ void add_up(std::uint32_t own, int lane, const Team& team,
                                                Ring& ring) {
    if (team.size == 2) {
      of_two(own, lane, ring);
    } else {
      of_more(own, lane, team, ring);
    }
  }

 private:
  // In either order. A float has twice the digits of T and two: so a float's sum, rounded to T, is
  // the sum rounded once (Figueroa, When is double rounding innocuous?, 1995).
  static __device__ __forceinline__ void of_two(std::uint32_t own, int lane, Ring& ring) {
    const std::uint32_t other = ring.wait() + lane * 16;
    uint4 x[kUnits], y[kUnits];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      x[unit] = shared_load(own + unit * kUnitBytes);
      y[unit] = shared_load(other + unit * kUnitBytes);
    }
    ring.release();
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      const uint4 &a = x[unit], &b = y[unit];
      shared_store(own + unit * kUnitBytes, {add_pair<T>(a.x, b.x), add_pair<T>(a.y, b.y),
                                             add_pair<T>(a.z, b.z), add_pair<T>(a.w, b.w)});
    }
  }
  static __device__ __forceinline__ void of_more(std::uint32_t own, int lane, const Team& team,
                                                 Ring& ring) {
    Sums<T> sums[kUnits];
#pragma unroll 1
    for (int rank = 0; rank < team.size; ++rank) {
      const bool is_own = rank == team.rank;
      const std::uint32_t from = is_own ? own : ring.wait() + lane * 16;
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit)
        sums[unit].add(shared_load(from + unit * kUnitBytes));
      if (!is_own) ring.release();
    }
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit)
      shared_store(own + unit * kUnitBytes, sums[unit].rounded());
  }
};

// All of a part, by a warp-group's thread of that number, who has acquired the others' flags;
// `others`: where sender 0 has it. Loads of several steps are under way at a time.
template <class T, int kPartBytes>
__device__ __forceinline__ void add_up_part(std::uint32_t own, int thread, const Members& m,
                                            const std::byte* others) {
  constexpr int kStepBytes = kGroupThreads * 16, kSteps = kPartBytes / kStepBytes, kTogether = 4;
  static_assert(kPartBytes % kStepBytes == 0);
  const int size = m.team.size, mine = m.team.rank;
  own += thread * 16;
  others += thread * 16;
#pragma unroll 1
  for (int step = 0; step < kSteps; step += kTogether) {
    uint4 parts[kMostMembers][kTogether];
#pragma unroll
    for (int rank = 0; rank < kMostMembers; ++rank) {
      if (rank >= size) continue;
      const std::byte* const from =
          others + gemm_rs::sender_number(rank, mine, size) * m.space.slot_bytes;
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int at = (step + i) * kStepBytes;
        if (step + i < kSteps)
          parts[rank][i] = rank == mine ? shared_load(own + at) : global_load(from + at);
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      Sums<T> sums;
#pragma unroll
      for (int rank = 0; rank < kMostMembers; ++rank)
        if (rank < size) sums.add(parts[rank][i]);
      if (step + i < kSteps) shared_store(own + (step + i) * kStepBytes, sums.rounded());
    }
  }
}

}  // namespace weft::kernels::sm90
