// The GEMM kernel of sm_80 and sm_89: C[M, N] = A[M, K] * B[N, K]^T by mma.sync.
//
// A block is four warps, each with a quarter of the tile. All of them copy k-blocks of A and B into
// a ring of stages in shared memory (cp.async), ahead of the one that they multiply; fragments of
// the next step along k are loaded beside the products of this one. Where blocks share an SM, one
// stores its tile while another multiplies. Grids are persistent, and tiles come from a scheduler,
// as in kernel_sm90.hpp.
#pragma once

#include "kernels/gemm/mma_sm80.hpp"
#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::sm80 {

inline constexpr int kThreads = 128;
inline constexpr int kUnit = 8;  // elements of 16 bytes

template <class T, int kM_, int kN_, int kKBlock_, int kStages_>
struct Shape {
  using Element = T;
  static constexpr int kM = kM_, kN = kN_, kKBlock = kKBlock_, kStages = kStages_;
  static constexpr int kPartM = kM / 2, kPartN = kN / 2;  // of a warp
  static constexpr int kRowBytes = 2 * kKBlock;
  static constexpr int kBytesA = kM * kRowBytes, kStageBytes = (kM + kN) * kRowBytes;
  static constexpr int kBytes = kStages * kStageBytes;
  static_assert(2 * kM * kN <= kBytes, "a finished tile goes through the ring's memory");
};

template <class T, class Scheduler>
struct Params {
  const T* a;
  const T* b;
  T* c;
  long long lda, ldb, ldc;
  int m, n, k;
  Scheduler scheduler;
};

// Where 16-byte unit `unit` of a row of kUnits is. Eight rows' units of one number lie in all banks
// of shared memory, and so do eight units that follow one another.
template <int kUnits>
__device__ __forceinline__ std::uint32_t swizzled_offset(int row, int unit) {
  static_assert(kUnits == 4 || kUnits % 8 == 0, "");
  const int swizzled = kUnits == 4 ? unit ^ (row >> 1 & 3) : unit ^ (row & 7);
  return static_cast<std::uint32_t>(row * kUnits + swizzled) * 16;
}

// A thread's share of the copies of kRows rows of an operand.
template <class Shape, int kRows>
class Loader {
  using T = typename Shape::Element;
  static constexpr int kUnits = Shape::kKBlock / kUnit;
  static constexpr int kStep = kThreads / kUnits;  // rows that all threads copy at a time
  static_assert(kStep % 8 == 0 && kRows % kStep == 0, "the swizzle is the same for each copy");

 public:
  // Rows from `row` on, of `rows` that there are.
  __device__ __forceinline__ Loader(const T* data, long long stride, int row, int rows, int k)
      : stride_(stride), rows_(rows - row - first_row()), k_(k - unit() * kUnit) {
    from_ = data + (row + first_row()) * stride + unit() * kUnit;
  }
  // Elements outside the matrix become zeros.
  __device__ __forceinline__ void load(std::uint32_t to, int k_block) const {
    const int k = k_block * Shape::kKBlock;
    const int bytes = 2 * max(0, min(k_ - k, kUnit));
    const T* from = from_ + k;
    to += swizzled_offset<kUnits>(first_row(), unit());
#pragma unroll
    for (int i = 0; i < kRows / kStep; ++i) {
      copy_async(to + i * kStep * Shape::kRowBytes, from, i * kStep < rows_ ? bytes : 0);
      from += kStep * stride_;
    }
  }

 private:
  static __device__ int first_row() { return static_cast<int>(threadIdx.x) / kUnits; }
  static __device__ int unit() { return static_cast<int>(threadIdx.x) % kUnits; }
  const T* from_;
  const long long stride_;
  const int rows_, k_;  // that are left from this thread's first on
};

// The operands that a warp multiplies in a step of 16 along k.
template <class Shape>
struct Fragments {
  static constexpr int kUnits = Shape::kKBlock / kUnit;
  std::uint32_t a[Shape::kPartM / 16][4];
  std::uint32_t b[Shape::kPartN / 16][4];  // two fragments of 8 columns each

  __device__ __forceinline__ void load(std::uint32_t stage, int step) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // A's matrices: rows 0-7, rows 8-15, and both of the next 8 along k.
    const int row_a = warp / 2 * Shape::kPartM + lane % 16;
    const std::uint32_t from_a = stage + swizzled_offset<kUnits>(row_a, 2 * step + lane / 16);
    // B's: rows 0-7 at k and the next 8 along k, then rows 8-15 so.
    const int row_b = warp % 2 * Shape::kPartN + lane / 16 * 8 + lane % 8;
    const std::uint32_t from_b =
        stage + Shape::kBytesA + swizzled_offset<kUnits>(row_b, 2 * step + lane / 8 % 2);
#pragma unroll
    for (int i = 0; i < Shape::kPartM / 16; ++i)
      load_matrices(a[i], from_a + i * 16 * Shape::kRowBytes);
#pragma unroll
    for (int j = 0; j < Shape::kPartN / 16; ++j)
      load_matrices(b[j], from_b + j * 16 * Shape::kRowBytes);
  }
};

template <class Shape>
struct Sums {
  float d[Shape::kPartM / 16][Shape::kPartN / 8][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : d)
#pragma unroll
      for (auto& block : row)
#pragma unroll
        for (float& sum : block) sum = 0;
  }
  __device__ __forceinline__ void add(const Fragments<Shape>& f) {
#pragma unroll
    for (int i = 0; i < Shape::kPartM / 16; ++i)
#pragma unroll
      for (int j = 0; j < Shape::kPartN / 8; ++j)
        multiply<typename Shape::Element>(d[i][j], f.a[i], f.b[j / 2][j % 2 * 2],
                                          f.b[j / 2][j % 2 * 2 + 1]);
  }
};

// K-blocks [begin, end) along k.
template <class Shape, class Params>
__device__ __forceinline__ void add_up(const Params& p, const gemm::Work& work,
                                       std::uint32_t shared, Sums<Shape>& sums) {
  constexpr int kStages = Shape::kStages, kSteps = Shape::kKBlock / 16;
  const Loader<Shape, Shape::kM> a(p.a, p.lda, work.row, p.m, p.k);
  const Loader<Shape, Shape::kN> b(p.b, p.ldb, work.column, p.n, p.k);
  const auto stage_of = [shared](int stage) { return shared + stage * Shape::kStageBytes; };
  const auto load = [&](int k_block, int stage) {
    if (k_block < work.k_end) {
      a.load(stage_of(stage), k_block);
      b.load(stage_of(stage) + Shape::kBytesA, k_block);
    }
    copy_commit();  // none, too: the groups count k-blocks
  };
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) load(work.k_begin + i, i);
  copy_wait<kStages - 2>();
  __syncthreads();

  Fragments<Shape> fragments[2];
  fragments[0].load(stage_of(0), 0);
  int now = 0, before = kStages - 1;  // stages: of this k-block, and of the one before
  for (int k_block = work.k_begin; k_block < work.k_end; ++k_block) {
    const int next = now + 1 == kStages ? 0 : now + 1;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 == kSteps) {
        // The next k-block is there. And all warps have their fragments of this one: its stage may
        // be filled again, which the copies of the next iteration do. Behind the last k-block, what
        // is loaded is not used.
        copy_wait<kStages - 2>();
        __syncthreads();
        fragments[(step + 1) % 2].load(stage_of(next), 0);
      } else {
        fragments[(step + 1) % 2].load(stage_of(now), step + 1);
      }
      if (step == 0) load(k_block + kStages - 1, before);
      sums.add(fragments[step % 2]);
    }
    before = now;
    now = next;
  }
}

// Rounds the sums, puts them into shared memory, and stores whole 16 bytes to C, the last of a row
// element by element.
template <class Shape, class Params>
__device__ __forceinline__ void store(const Params& p, const gemm::Work& work,
                                      unsigned char* shared, const Sums<Shape>& sums) {
  using T = typename Shape::Element;
  constexpr int kUnits = Shape::kN / kUnit;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / 2 * Shape::kPartM + lane / 4;
  const int unit = warp % 2 * (Shape::kPartN / kUnit);
  __syncthreads();  // nobody reads the ring any more
#pragma unroll
  for (int i = 0; i < Shape::kPartM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::kPartN / 8; ++j) {
      const auto& d = sums.d[i][j];
      for (int half = 0; half < 2; ++half) {
        unsigned char* const to =
            shared + swizzled_offset<kUnits>(row + 16 * i + 8 * half, unit + j);
        *reinterpret_cast<std::uint32_t*>(to + lane % 4 * 4) =
            pack<T>(d[2 * half], d[2 * half + 1]);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < Shape::kM * kUnits; i += kThreads) {
    const int r = i / kUnits, u = i % kUnits;
    const int count = min(kUnit, p.n - work.column - u * kUnit);
    if (work.row + r >= p.m || count <= 0) continue;
    const unsigned char* const from = shared + swizzled_offset<kUnits>(r, u);
    T* const to = p.c + (work.row + r) * p.ldc + work.column + u * kUnit;
    if (count == kUnit) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    } else {
      for (int e = 0; e < count; ++e) to[e] = reinterpret_cast<const T*>(from)[e];
    }
  }
  __syncthreads();  // the next tile's copies may come
}

template <class Shape, class Scheduler>
__global__ void __launch_bounds__(kThreads, 2)
    gemm_kernel(const __grid_constant__ Params<typename Shape::Element, Scheduler> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  gemm::Work work;
  const int step = static_cast<int>(gridDim.x);
  for (int index = static_cast<int>(blockIdx.x); p.scheduler.work(index, 0, &work); index += step) {
    Sums<Shape> sums;
    sums.clear();
    add_up<Shape>(p, work, shared_address(memory), sums);
    store<Shape>(p, work, memory, sums);
  }
}

}  // namespace weft::kernels::sm80
