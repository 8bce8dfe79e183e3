// The consumers of e4m3, with a scale for every 128 along k: of each row of A, and of every 128
// rows of B. A stage is 128 bytes of k, so that it is just one block of scales. Tensor cores sum it
// from zero (and with fewer bits than a float has), then threads add it, scaled, to sums of their
// own: the products of one consumer run while the others add. As DeepSeek-V3 does (arXiv
// 2412.19437, 3.3.2).
//
// To everything else a pair of e4m3 is one element of two bytes, 64 to a stage.
#pragma once

#include "kernels/gemm/kernel_sm90.hpp"

namespace weft::kernels::sm90 {

template <int kM, int kN, int kStages, int kSharing>
struct E4m3Shape : Shape<__nv_bfloat16, kM, kN, kStages, kSharing> {
  using Scales = sm90::Scales;
  static constexpr bool kHasSegments = false;
  // K-blocks that a consumer has under way together. Products of narrow parts are so short that
  // they wait for one another, and their sums so few that there are registers for two.
  static constexpr int kTogether = E4m3Shape::kPartN <= 64 ? 2 : 1;
  static_assert(E4m3Shape::kBlocks == 1, "there are registers for two sums of 64 rows");
};

// The scales of a thread for one k-block: those of its two rows of A times those of the one or two
// blocks of B that its part lies in. Rows and columns outside the matrix have the last one's, and
// are not stored.
//
// Four threads have the same rows. Each loads what belongs to every fourth k-block, while the four
// before it are multiplied, and passes it on to the three others: if all loaded them for each
// k-block it would take a fifth of the time, for eight rows of A are eight lines.
template <class Shape>
class PartScales {
  static constexpr int kThreads = 4;
  static constexpr int kBlocksB = gemm::kScaled % Shape::kPartN == 0 ? 1 : 2;
  // No block of B ends between so many.
  static constexpr int kColumns = Shape::kPartN % 32 == 0 ? 32 : 8;
  static_assert(Shape::kPartN % kColumns == 0 && Shape::kPartN <= gemm::kScaled + 2 * kColumns);
  using Scale = float[kBlocksB][2];

 public:
  __device__ explicit PartScales(const Scales& s) : s_(s) {}
  // Begins to load the first ones.
  __device__ __forceinline__ void begin(const Part<Shape>& part, int k_begin, int k_end) {
    const int row = part.row + part.first_row(), block = part.column / gemm::kScaled;
#pragma unroll
    for (int i = 0; i < 2; ++i) a_[i] = s_.a + at(row + 8 * i, s_.m);
#pragma unroll
    for (int i = 0; i < kBlocksB; ++i) b_[i] = s_.b + at(block + i, s_.b_blocks);
    split_ = (block + 1) * gemm::kScaled - part.column;
    k_ = k_begin + part.thread % kThreads;
    last_ = k_end - 1;
    load();
  }
  // For the next add(): those of k-block 0, 1, ... since begin(), one after the other.
  __device__ __forceinline__ void take(int k_block) {
    if (k_block % kThreads == 0) {
#pragma unroll
      for (int i = 0; i < kBlocksB * 2; ++i) mine_[i / 2][i % 2] = next_a_[i % 2] * next_b_[i / 2];
      load();
    }
#pragma unroll
    for (int i = 0; i < kBlocksB * 2; ++i)
      now_[i / 2][i % 2] = __shfl_sync(~0u, mine_[i / 2][i % 2], k_block % kThreads, kThreads);
  }
  __device__ __forceinline__ void add(float (&sums)[Shape::kPartN / 2],
                                      const float (&d)[Shape::kPartN / 2]) const {
#pragma unroll
    for (int i = 0; i < Shape::kPartN / 2; ++i) {
      const int row = i / 2 % 2;
      const bool first = kBlocksB == 1 || 2 * i / kColumns * kColumns < split_;
      sums[i] = fmaf(d[i], first ? now_[0][row] : now_[kBlocksB - 1][row], sums[i]);
    }
  }

 private:
  __device__ long long at(int row, int rows) const {
    return static_cast<long long>(min(row, rows - 1)) * s_.k_blocks;
  }
  __device__ __forceinline__ void load() {
    const int k = min(k_, last_);
#pragma unroll
    for (int i = 0; i < 2; ++i) next_a_[i] = __ldg(a_[i] + k);
#pragma unroll
    for (int i = 0; i < kBlocksB; ++i) next_b_[i] = __ldg(b_[i] + k);
    k_ += kThreads;
  }
  const Scales& s_;
  const float *a_[2], *b_[kBlocksB];
  float next_a_[2], next_b_[kBlocksB];
  Scale mine_, now_;
  int k_, last_;
  int split_;  // columns of the part that lie in the first block
};

// A consumer's part of a tile, k-block by k-block.
template <class Shape, class Layout>
class ScaledSums {
  using Sums = float[Shape::kPartN / 2];

 public:
  __device__ ScaledSums(const Layout& shared, int part_m, int part_n, int thread)
      : shared_(shared),
        offset_a_(part_m * Shape::kPartM * kRowBytes),
        offset_b_(part_n * Shape::kPartN * kRowBytes),
        lane_(thread % 32) {}

  // Adds up the next kCount k-blocks.
  template <int kCount>
  __device__ __forceinline__ void add(int k_block, PartScales<Shape>& scales, Sums& sums) {
    Sums d[kCount];
    int stages[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i, at_.next()) {
      stages[i] = at_.stage;
      barrier_wait(shared_.full(at_.stage), at_.phase);
      multiply(at_.stage, d[i]);
    }
    finish<0>(stages, k_block, scales, sums, d);
  }

 private:
  __device__ __forceinline__ void multiply(int stage, Sums& d) const {
    const std::uint64_t a = operand(shared_.a(stage) + offset_a_);
    const std::uint64_t b = operand(shared_.b(stage) + offset_b_);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kRowBytes / 32; ++step)
      wgmma<gemm::E4m3, Shape::kPartN>(d, a + 2 * step, b + 2 * step, step > 0);
    wgmma_commit();
  }
  // From the kFirst-th of those that were begun together.
  template <int kFirst, int kCount>
  __device__ __forceinline__ void finish(const int (&stages)[kCount], int k_block,
                                         PartScales<Shape>& scales, Sums& sums,
                                         Sums (&d)[kCount]) const {
    scales.take(k_block + kFirst);
    wgmma_wait<kCount - 1 - kFirst>();
    release<Shape>(shared_, stages[kFirst], lane_);
    pin(d[kFirst]);
    scales.add(sums, d[kFirst]);
    if constexpr (kFirst + 1 < kCount) finish<kFirst + 1>(stages, k_block, scales, sums, d);
  }
  const Layout& shared_;
  const int offset_a_, offset_b_, lane_;
  Cursor<Shape::kStages> at_;
};

template <class Shape, class Layout, class Params, class Epilogue>
__device__ __forceinline__ void consume(const Layout& shared, const Params& p, const Scales& scales,
                                        int cluster, int clusters, int rank, Epilogue& epilogue) {
  // Alike in a warp, and so that the compiler sees it: operands are then in registers of the warp.
  const int consumer = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / kGroupThreads - 1, 0);
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  const int part_m = consumer / Shape::kPartsN, part_n = consumer % Shape::kPartsN;
  const auto part_of = [&](const gemm::Work& work) {
    return Part<Shape>{work.segment, work.row + part_m * Shape::kPartM,
                       work.column + part_n * Shape::kPartN, consumer, thread};
  };
  float sums[Shape::kPartN / 2];
  ScaledSums<Shape, Layout> k_blocks(shared, part_m, part_n, thread);
  PartScales<Shape> scale(scales);
  gemm::Work work;
  int index = cluster;
  bool more = p.scheduler.work(index, rank, &work);
  if (more) scale.begin(part_of(work), work.k_begin, work.k_end);
  while (more) {
#pragma unroll
    for (int i = 0; i < Shape::kPartN / 2; ++i) sums[i] = 0;
    const int count = work.k_end - work.k_begin;
    int k_block = 0;
    for (; k_block + Shape::kTogether <= count; k_block += Shape::kTogether)
      k_blocks.template add<Shape::kTogether>(k_block, scale, sums);
    if constexpr (Shape::kTogether > 1)
      for (; k_block < count; ++k_block) k_blocks.template add<1>(k_block, scale, sums);
    const Part<Shape> part = part_of(work);
    index += clusters;
    more = p.scheduler.work(index, rank, &work);
    if (more) scale.begin(part_of(work), work.k_begin, work.k_end);  // while sums are stored
    epilogue.store(part, sums);
  }
  epilogue.finish();
}

}  // namespace weft::kernels::sm90
