// Where a finished tile goes. An epilogue is made by each consumer thread from its parameters and
// the block's shared memory; store() is called by all threads of a warp-group with their part of a
// tile, finish() once at the end. One that sends and waits has up to three warps for it,
// kCommWarps, which call move(); and prepare() goes before all.
#pragma once

#include "kernels/gemm/kernel_sm90.hpp"
#include "kernels/gemm/pack_cuda.hpp"

namespace weft::kernels::sm90 {

using gemm::pack;

template <class T>
__device__ __forceinline__ float2 unpack(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    float2 both;
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.bf16 %0, low;\n"
        "cvt.f32.bf16 %1, high;\n}"
        : "=f"(both.x), "=f"(both.y)
        : "r"(pair));
    return both;
  } else {
    return __half22float2(reinterpret_cast<const __half2&>(pair));
  }
}

// The sums of two pairs of T.
template <class T>
__device__ __forceinline__ std::uint32_t add_pair(std::uint32_t x, std::uint32_t y) {
  std::uint32_t sum;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
  } else {
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
  }
  return sum;
}

// The matrix by itself, for stores by threads.
template <class T>
struct Matrix {
  T* data;
  long long stride;   // of rows, in elements
  int rows, columns;  // rows of a segment; segments follow one another

  // Two neighbours of a row, of which each may be outside.
  __device__ void put(int segment, int row, int column, std::uint32_t pair) const {
    if (row >= rows || column >= columns) return;
    T* const to = data + (1ll * segment * rows + row) * stride + column;
    if (column + 1 < columns) {
      *reinterpret_cast<std::uint32_t*>(to) = pair;
    } else {
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(pair);
    }
  }
  // Four neighbours of a row of the first segment, from a multiple of four on.
  __device__ void put_four(int row, int column, std::uint64_t word) const {
    if (row < rows && column + 3 < columns) {
      *reinterpret_cast<std::uint64_t*>(data + row * stride + column) = word;
      return;
    }
    put(0, row, column, static_cast<std::uint32_t>(word));
    put(0, row, column + 2, static_cast<std::uint32_t>(word >> 32));
  }
};

// To a matrix by tensor copies, which clip at its edges. Chunks of columns go through two buffers
// of shared memory for each consumer, so that the copy of one runs beside the conversion of the
// next.
template <class Shape>
class StoreEpilogue {
  using T = typename Shape::Element;

 public:
  struct Params {
    CUtensorMap c;  // box of 64 rows and kChunk columns, swizzled as swizzled() says
    Matrix<T> matrix;
    // Columns that copies store. They clip at 16 bytes, not at elements: what is behind the last
    // eight columns is stored by threads.
    int copied;
  };
  static constexpr int kMost = Shape::kBlocks == 1 ? 64 : 32;  // columns that there is room for
  // Two chunks of 112 or 208 columns fit, and need fewer barriers than chunks of 16.
  static constexpr bool kInHalves = Shape::kPartN == 112 || Shape::kPartN == 208;
  static constexpr int kChunk = kInHalves                    ? Shape::kPartN / 2
                                : Shape::kPartN < kMost      ? Shape::kPartN
                                : Shape::kPartN % kMost == 0 ? kMost
                                : Shape::kPartN % 32 == 0    ? 32
                                                             : 16;
  static constexpr int kChunks = Shape::kPartN / kChunk;
  static constexpr int kChunkBytes = 64 * kChunk * 2;
  static constexpr int kBuffers = kChunk == Shape::kPartN ? 1 : 2;
  static constexpr int kSharedBytes = Shape::kConsumers * kBuffers * kChunkBytes;
  static constexpr bool kSyncsCluster = false;
  static constexpr int kCommWarps = 0;
  // A large tile is rounded into registers and stored chunk by chunk between the products of the
  // next tile, which otherwise start 0.7 us later.
  static constexpr bool kHolds = Shape::kBlocks == 1 && Shape::kPartN >= 128 &&
                                 std::is_same_v<typename Shape::Scales, NoScales>;

  __device__ StoreEpilogue(const Params& p, std::uint32_t, std::uint32_t shared)
      : p_(p), shared_(shared + (threadIdx.x / kGroupThreads - 1) * kBuffers * kChunkBytes) {}

  __device__ __forceinline__ void store(const Part<Shape>& part,
                                        const float (&d)[Shape::kPartN / 2]) {
    if constexpr (kHolds) {
      store_held();
      hold(part, d);
      store_rest(part, [&](int i) { return held_.words[i]; });
    } else {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        std::uint32_t words[kChunkWords];
        round(d + 2 * kChunkWords * chunk, words);
        store_chunk(part, words, chunk);
      }
      store_rest(part, [&](int i) { return pack<T>(d[2 * i], d[2 * i + 1]); });
    }
  }
  // Stores a chunk of the tile that is held; called between products of the next tile.
  __device__ __forceinline__ void store_some() {
    if constexpr (kHolds) {
      if (held_.left > 0) store_next();
    }
  }
  __device__ __forceinline__ void finish() {
    if constexpr (kHolds) store_held();
    tma_store_wait_all();
  }

  // A chunk, rounded, as the copy engine looks for it.
  static __device__ __forceinline__ void fill(std::uint32_t buffer, int thread, const float* d) {
    std::uint32_t words[kChunkWords];
    round(d, words);
    fill(buffer, thread, words);
  }

 private:
  // A thread's words of two elements in a tile and in a chunk.
  static constexpr int kWords = Shape::kPartN / 4, kChunkWords = kChunk / 4;
  struct Held {
    std::uint32_t words[kWords];
    Part<Shape> part;
    int left = 0;  // chunks
  };
  struct Nothing {};

  template <int kCount>
  static __device__ __forceinline__ void round(const float* d, std::uint32_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = pack<T>(d[2 * i], d[2 * i + 1]);
  }
  __device__ __forceinline__ void hold(const Part<Shape>& part,
                                       const float (&d)[Shape::kPartN / 2]) {
    round(d, held_.words);
    held_.part = part;
    held_.left = kChunks;
  }
  // The loop compares the chunk's number, so that every index into registers is a constant.
  __device__ __forceinline__ void store_next() {
    const int next = kChunks - held_.left;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk)
      if (chunk == next) store_chunk(held_.part, held_.words + chunk * kChunkWords, chunk);
    --held_.left;
  }
  __device__ __forceinline__ void store_held() {
    while (held_.left > 0) store_next();
  }

  __device__ __forceinline__ void store_chunk(const Part<Shape>& part, const std::uint32_t* words,
                                              int chunk) {
    const int barrier = 1 + part.consumer;
    const std::uint32_t buffer = shared_ + buffer_ * kChunkBytes;
    if (part.thread == 0) tma_store_wait_read<kBuffers - 1>();  // its last copy has read it
    named_barrier(barrier, kGroupThreads);
    fill(buffer, part.thread, words);
    fence_shared_for_copies();
    named_barrier(barrier, kGroupThreads);
    if (part.thread == 0) {
      const int column = part.column + chunk * kChunk;
      if (column < p_.copied) tma_store(p_.c, buffer, part.segment, part.row, column);
      tma_store_commit();  // none, too: the groups stand for the buffers
    }
    buffer_ ^= kBuffers - 1;
  }
  static __device__ __forceinline__ void fill(std::uint32_t buffer, int thread,
                                              const std::uint32_t* words) {
    // The row of a matrix whose address this lane gives, and which of a pair of matrices.
    const int row = thread / 32 * 16 + (thread & 15);
    const int right = thread >> 4 & 1;
#pragma unroll
    for (int pair = 0; pair < kChunk / 16; ++pair, words += 4) {
      store_matrices(buffer + row * kChunk * 2 + swizzled(row, 2 * pair + right) * 16, words[0],
                     words[1], words[2], words[3]);
    }
    if constexpr (kChunk % 16 != 0)
      store_matrices(buffer + row * kChunk * 2 + (kChunk / 8 - 1) * 16, words[0], words[1]);
  }
  // Where the copy engine looks for 16-byte unit `unit` of a row.
  static __device__ int swizzled(int row, int unit) {
    if constexpr (kChunk == 64) return unit ^ (row & 7);
    if constexpr (kChunk == 32) return unit ^ (row >> 1 & 3);
    if constexpr (kChunk == 16) return unit ^ (row >> 2 & 1);
    return unit;  // rows of 80, 112 or 208 bytes share no banks as they are
  }
  // Stores the columns behind the last eight, which tensor copies do not clip.
  template <class Word>
  __device__ __forceinline__ void store_rest(const Part<Shape>& part, Word word) const {
    const int rest = p_.copied - part.column;
    if (p_.copied >= p_.matrix.columns || rest < 0 || rest >= Shape::kPartN) return;
    const int row = part.row + part.first_row();
#pragma unroll
    for (int j = 0; j < Shape::kPartN / 8; ++j) {
      if (8 * j != rest) continue;
      const int column = part.column + 8 * j + part.first_column();
      p_.matrix.put(part.segment, row, column, word(2 * j));
      p_.matrix.put(part.segment, row + 8, column, word(2 * j + 1));
    }
  }
  const Params& p_;
  const std::uint32_t shared_;
  int buffer_ = 0;
  std::conditional_t<kHolds, Held, Nothing> held_;
};

// Four sums of each thread in a part of a tile: two neighbours of first_row(), at first_column() +
// 8 j, and two of the row 8 below. Quads [first, last) are what a block has to do with.
template <class Shape>
struct Quads {
  static constexpr int kCount = Shape::kPartN / 8;
  int first, last;
  __device__ bool have(int j) const { return first <= j && j < last; }
};

// Adds up what the blocks of a cluster have of one tile, each of some of k, over the ranks in their
// order: each block gets a share of it in d, and is told which. It goes through the ring, which is
// not needed any more; a block by itself has all in its registers. By all consumers of a cluster.
template <class Shape>
__device__ __forceinline__ Quads<Shape> add_up(std::uint32_t ring, const Part<Shape>& part,
                                               float (&d)[Shape::kPartN / 2]) {
  constexpr int kCount = Quads<Shape>::kCount, kThreads = Shape::kConsumers * kGroupThreads;
  static_assert(Shape::kM * Shape::kN * 4 <= Shape::kRingBytes, "sums must fit into the ring");
  const int ranks = static_cast<int>(cluster_size()), rank = static_cast<int>(cluster_rank());
  if (ranks == 1) return {0, kCount};
  const std::uint32_t mine = ring + (part.consumer * kGroupThreads + part.thread) * 16;
  named_barrier(1, kThreads);  // both consumers have multiplied all that was in the ring
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(mine + j * kThreads * 16), "f"(d[4 * j]), "f"(d[4 * j + 1]),
                   "f"(d[4 * j + 2]), "f"(d[4 * j + 3])
                 : "memory");
  }
  cluster_sync();
  const Quads<Shape> share{kCount * rank / ranks, kCount * (rank + 1) / ranks};
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    if (!share.have(j)) continue;
    float4 sum = cluster_load(cluster_map(mine + j * kThreads * 16, 0));
    for (int r = 1; r < ranks; ++r) {
      const float4 more = cluster_load(cluster_map(mine + j * kThreads * 16, r));
      sum.x += more.x;
      sum.y += more.y;
      sum.z += more.z;
      sum.w += more.w;
    }
    d[4 * j] = sum.x;
    d[4 * j + 1] = sum.y;
    d[4 * j + 2] = sum.z;
    d[4 * j + 3] = sum.w;
  }
  return share;
}

// To a matrix by threads, of tiles whose blocks of a cluster split k.
template <class Shape>
class ClusterReduceEpilogue {
  using T = typename Shape::Element;

 public:
  using Params = Matrix<T>;
  static constexpr int kSharedBytes = 0;  // the ring's
  static constexpr bool kSyncsCluster = true;
  static constexpr int kCommWarps = 0;

  __device__ ClusterReduceEpilogue(const Params& p, std::uint32_t base, std::uint32_t)
      : p_(p), base_(base) {}

  __device__ __forceinline__ void store(const Part<Shape>& part, float (&d)[Shape::kPartN / 2]) {
    const Quads<Shape> mine = add_up(base_, part, d);
    const int row = part.row + part.first_row(), column = part.column + part.first_column();
#pragma unroll
    for (int j = 0; j < Quads<Shape>::kCount; ++j) {
      if (!mine.have(j)) continue;
      p_.put(part.segment, row, column + 8 * j, pack<T>(d[4 * j], d[4 * j + 1]));
      p_.put(part.segment, row + 8, column + 8 * j, pack<T>(d[4 * j + 2], d[4 * j + 3]));
    }
  }
  __device__ void finish() {}

 private:
  const Params& p_;
  const std::uint32_t base_;
};

}  // namespace weft::kernels::sm90
