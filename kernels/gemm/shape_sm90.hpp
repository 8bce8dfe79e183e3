// The shapes of the GEMM kernel of sm_90a: how large a tile is, how many warp-groups multiply it,
// and how much of k is on its way.
#pragma once

#include <weft/target.hpp>

#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::sm90 {

inline constexpr int kKBlock = 64;     // elements along k of a k-block: one row of the swizzle
inline constexpr int kRowBytes = 128;  // of a k-block
inline constexpr int kGroupThreads = 128;
inline constexpr int kConsumers = 2;  // warp-groups, but for tiles of 192 rows and narrow ones
// Registers of a thread of the producer's group and of consumers, where an epilogue has
// communication warps.
template <class Epilogue>
inline constexpr int kCommWarpRegisters = 104;
template <class Epilogue>
inline constexpr int kConsumerRegistersBesideCommWarps = 200;
// Whether a kernel may start early, as far as its epilogue goes: one without communication warps
// looks at no memory when it is prepared.
template <class Epilogue>
inline constexpr bool kEpilogueMayStartEarly = Epilogue::kCommWarps == 0;

struct NoScales {};    // of operands of two bytes
struct Scales {        // of e4m3
  const float *a, *b;  // [m][k_blocks], [ceil(n / 128)][k_blocks]
  int m, b_blocks, k_blocks;
};

// kDepth: k-blocks of a stage. Two where products of one are so short that waiting for it shows.
template <class T, int kM_, int kN_, int kStages_, int kSharing_, int kDepth_ = 1>
struct Shape {
  using Element = T;
  using Scales = NoScales;
  static constexpr int kM = kM_, kN = kN_, kStages = kStages_, kSharing = kSharing_;
  static constexpr int kDepth = kDepth_;
  // Two consumers share the columns of 64 rows only where each gets 24 of them or more, by eights.
  static constexpr bool kIsNarrow = kM == 64 && (kN < 48 || kN % 16 != 0);
  static constexpr int kConsumers = kM == 192 ? 3 : kIsNarrow ? 1 : sm90::kConsumers;
  static constexpr int kThreads = (1 + kConsumers) * kGroupThreads;
  // The consumers' parts of a tile: its rows by their number, or its columns where it has 64 rows.
  static constexpr int kPartsM = kM == 64 ? 1 : kConsumers, kPartsN = kConsumers / kPartsM;
  static constexpr int kPartM = kM / kPartsM, kPartN = kN / kPartsN;
  static constexpr int kBlocks = kPartM / 64;  // products of a part, one above the other
  static constexpr int kBytesA = kM * kRowBytes, kBytesB = kN * kRowBytes;  // of a k-block
  static constexpr int kRingBytes = kStages * kDepth * (kBytesA + kBytesB);
  static constexpr int kBoxB = kN / kSharing;  // rows of B that a block loads
  static constexpr bool kHasSegments = gemm::has_segments(kM, kN);
  // Registers of a thread: together no more than the 168 * 384, or 128 * 512, that a block begins
  // with.
  static constexpr bool kIsLargest = kM * kN > 256 * 160;
  static constexpr bool kTradesRegisters = kConsumers > 1 && kDepth == 1;  // else all have enough
  static constexpr int kProducerRegisters = kConsumers == 3 ? 32 : kIsLargest ? 24 : 40;
  static constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : kIsLargest ? 240 : 232;
  static_assert(kM == 64 || kM == 128 || kM == 192 || kM == 256,
                "a consumer multiplies 64 or 128 rows");
  static_assert(kBoxB % 8 == 0, "a box begins at a multiple of the swizzle's 1024 bytes");
};

// 64 rows of one consumer's part of a tile, and their place in C.
template <class Shape>
struct Part {
  int segment;      // of C
  int row, column;  // of its first element, in the segment
  int consumer;     // its number
  int thread;       // in the warp-group
  // d[4 * j + i] of the accumulator d is row first_row() + (i & 2) * 4 and column first_column() +
  // 8 * j + (i & 1), from the part's first element.
  __device__ int first_row() const { return thread / 32 * 16 + thread % 32 / 4; }
  __device__ int first_column() const { return thread % 4 * 2; }
};

}  // namespace weft::kernels::sm90
