// The consumers of e4m3, with a scale for every 128 along k: of each row of A, and of every 128
// rows of B. A stage is 128 bytes of k, so that it is just one block of scales. Tensor cores sum it
// from zero (and with fewer bits than a float has), then threads add it, scaled, to sums of their
// own: the products of one consumer run while the other adds. As DeepSeek-V3 does (arXiv
// 2412.19437, 3.3.2).
//
// To everything else a pair of e4m3 is one element of two bytes, 64 to a stage.
#pragma once

#include "kernels/gemm/kernel_sm90.hpp"

namespace weft::kernels::sm90 {

struct Scales {
  const float *a, *b;  // [m][k_blocks], [ceil(n / 128)][k_blocks]
  int m, b_blocks, k_blocks;
};

template <int kM, int kN, int kStages, int kSharing>
struct E4m3Shape : Shape<__nv_bfloat16, kM, kN, kStages, kSharing> {
  using Scales = sm90::Scales;
  static constexpr bool kHasSegments = false;
  static_assert(E4m3Shape::kBlocks == 1, "there are registers for two sums of 64 rows");
};

// Of a thread, for one block of k: its two rows of A, and the one or two blocks of B that its part
// lies in. What is outside the matrix has the last one's, and is not stored.
template <class Shape>
class PartScales {
  static constexpr bool kTwo = gemm::kScaled % Shape::kPartN != 0;
  static constexpr int kTogether = 32;  // columns; no block of B ends between them
  static constexpr int kGroups = Shape::kPartN / kTogether;
  static_assert(Shape::kPartN % kTogether == 0 && Shape::kPartN <= gemm::kScaled + kTogether);

 public:
  __device__ PartScales(const Scales& s, const Part<Shape>& part) : s_(s) {
    const int row = part.row + part.first_row(), block = part.column / gemm::kScaled;
    a_[0] = s.a + at(row, s.m);
    a_[1] = s.a + at(row + 8, s.m);
    b_[0] = s.b + at(block, s.b_blocks);
    if constexpr (kTwo) {
      b_[1] = s.b + at(block + 1, s.b_blocks);
      split_ = (block + 1) * gemm::kScaled - part.column;
    }
  }
  __device__ __forceinline__ void load(int k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) next_a_[i] = __ldg(a_[i] + k);
#pragma unroll
    for (int i = 0; i < 1 + kTwo; ++i) next_b_[i] = __ldg(b_[i] + k);
  }
  // What was loaded last is what add() takes.
  __device__ __forceinline__ void take() {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      float b = next_b_[0];
      if constexpr (kTwo) b = group * kTogether < split_ ? b : next_b_[1];
#pragma unroll
      for (int i = 0; i < 2; ++i) scale_[group][i] = next_a_[i] * b;
    }
  }
  __device__ __forceinline__ void add(float (&sums)[Shape::kPartN / 2],
                                      const float (&d)[Shape::kPartN / 2]) const {
#pragma unroll
    for (int i = 0; i < Shape::kPartN / 2; ++i)
      sums[i] = fmaf(d[i], scale_[2 * i / kTogether][i / 2 % 2], sums[i]);
  }

 private:
  __device__ long long at(int row, int rows) const {
    return static_cast<long long>(min(row, rows - 1)) * s_.k_blocks;
  }
  const Scales& s_;
  const float *a_[2], *b_[1 + kTwo];
  float next_a_[2], next_b_[1 + kTwo], scale_[kGroups][2];
  int split_ = 0;
};

template <class Shape, class Layout, class Params, class Sink>
__device__ __forceinline__ void consume(const Layout& shared, const Params& p, const Scales& scales,
                                        int cluster, int clusters, int rank, Sink& sink) {
  const int consumer = threadIdx.x / kGroupThreads - 1;
  const int thread = threadIdx.x % kGroupThreads;
  const int part_m = consumer / Shape::kPartsN, part_n = consumer % Shape::kPartsN;
  float sums[Shape::kPartN / 2], d[Shape::kPartN / 2];
  Cursor<Shape::kStages> at;
  gemm::Work work;
  for (int index = cluster; p.order.work(index, rank, &work); index += clusters) {
    const Part<Shape> part{work.segment, work.row + part_m * Shape::kPartM,
                           work.column + part_n * Shape::kPartN, consumer, thread};
    PartScales<Shape> scale(scales, part);
    scale.load(work.k_begin);
#pragma unroll
    for (float& sum : sums) sum = 0;
    for (int k = work.k_begin; k < work.k_end; ++k, at.next()) {
      scale.take();
      scale.load(min(k + 1, work.k_end - 1));  // there by the next turn
      barrier_wait(shared.full(at.stage), at.lap);
      const std::uint64_t a = operand(shared.a(at.stage) + part_m * Shape::kPartM * kRowBytes);
      const std::uint64_t b = operand(shared.b(at.stage) + part_n * Shape::kPartN * kRowBytes);
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < kRowBytes / 32; ++step)
        wgmma<gemm::E4m3, Shape::kPartN>(d, a + 2 * step, b + 2 * step, step > 0);
      wgmma_commit();
      wgmma_wait<0>();
      release<Shape>(shared, at.stage, thread % 32);
      pin(d);
      scale.add(sums, d);
    }
    sink.store(part, sums);
  }
  sink.finish();
}

}  // namespace weft::kernels::sm90
