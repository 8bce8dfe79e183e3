// NVSHMEM's tensors: where the elements of a tile lie. Shapes and strides are tuples of integers,
// or of ConstInt for what the compiler is to know; strides count elements.
#pragma once

#include <climits>
#include <cstddef>

#include <weft/target.hpp>

// Tuples of kernels are CUDA's, as in NVSHMEM.
#if WEFT_TARGET_CUDA
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#define WEFT_NVSHMEM_STD ::cuda::std
#else
#include <tuple>
#include <type_traits>
#define WEFT_NVSHMEM_STD ::std
#endif

// Both for hosts and for kernels; constexpr functions of a host are not a kernel's.
#if WEFT_TARGET_CUDA
#define WEFT_NVSHMEM_CONSTEXPR __host__ __device__ constexpr
#else
#define WEFT_NVSHMEM_CONSTEXPR constexpr
#endif

#if WEFT_TARGET_CPU
namespace weft::nvshmem::kernels {
#endif

template <int v>
struct ConstInt : WEFT_NVSHMEM_STD::integral_constant<int, v> {
  WEFT_NVSHMEM_CONSTEXPR operator int() const { return v; }
};

namespace nvshmemx {

template <class... Shapes>
using shape = WEFT_NVSHMEM_STD::tuple<Shapes...>;
template <class... Strides>
using stride = WEFT_NVSHMEM_STD::tuple<Strides...>;

template <class... Ts>
WEFT_NVSHMEM_CONSTEXPR shape<Ts...> make_shape(const Ts&... extents) {
  return {extents...};
}
template <class... Ts>
WEFT_NVSHMEM_CONSTEXPR stride<Ts...> make_stride(const Ts&... strides) {
  return {strides...};
}

template <class Shape, class Stride>
class Layout {
 public:
  WEFT_NVSHMEM_CONSTEXPR Layout(const Shape& shape = {}, const Stride& stride = {})
      : shape_(shape), stride_(stride) {}
  WEFT_NVSHMEM_CONSTEXPR Shape shape() const { return shape_; }
  WEFT_NVSHMEM_CONSTEXPR Stride stride() const { return stride_; }

 private:
  Shape shape_;
  Stride stride_;
};

template <class Shape, class Stride>
WEFT_NVSHMEM_CONSTEXPR Layout<Shape, Stride> make_layout(const Shape& shape, const Stride& stride) {
  return {shape, stride};
}

template <class T, class Layout>
struct Tensor {
  using value_type = T;
  using layout_type = Layout;
  T* _data;
  const Layout _layout;

  WEFT_NVSHMEM_CONSTEXPR Tensor(T* data, Layout layout) : _data(data), _layout(layout) {}
  WEFT_NVSHMEM_CONSTEXPR explicit Tensor(Layout layout) : _data(nullptr), _layout(layout) {}
  WEFT_NVSHMEM_CONSTEXPR T* data() const { return _data; }
  WEFT_NVSHMEM_CONSTEXPR Layout layout() const { return _layout; }
  WEFT_NVSHMEM_CONSTEXPR auto shape() const { return _layout.shape(); }
  WEFT_NVSHMEM_CONSTEXPR auto stride() const { return _layout.stride(); }
};

// How a collective is carried out. Weft uses no multicast: what these say to it is who reduces, and
// what tile_collective_wait has to wait for.
typedef enum {
  NVLS_ONE_SHOT_PUSH_NBI = 0,
  NVLS_ONE_SHOT_PULL_NBI = 1,
  NVLS_TWO_SHOT_PUSH_NBI = 2,
  NVLS_TWO_SHOT_PULL_NBI = 3,
  NVSHMEMI_TILE_COLL_ALGO_SENTINEL = INT_MAX
} tile_coll_algo_t;

// The way of a put or get, which Weft finds by itself.
typedef enum {
  PEER_PUSH_NBI = 0,
  PEER_PULL_NBI = 0,
  REMOTE_PUSH_NBI = 1,
  REMOTE_PULL_NBI = 1,
  NVSHMEMI_TILE_ALGO_SENTINEL = INT_MAX
} tile_algo_t;

}  // namespace nvshmemx

#if WEFT_TARGET_CPU
}  // namespace weft::nvshmem::kernels
#endif

namespace weft::nvshmem {

#if WEFT_TARGET_CPU
namespace names = kernels::nvshmemx;
#else
namespace names = ::nvshmemx;
#endif

}  // namespace weft::nvshmem
