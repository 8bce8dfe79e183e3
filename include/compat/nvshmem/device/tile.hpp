// Tiles, by the threads of a Scope. A call whose arguments do not go together moves nothing and
// returns NVSHMEMX_ERROR_INVALID_VALUE; NVSHMEMX_ERROR_INTERNAL: the fault record says why not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/reduce_op.hpp>

#include "../module_state.hpp"
#include "../tensor.hpp"
#include "collective.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {
namespace tiles {

// How many numbers a shape, stride or coordinate has. A type that holds none, tuple or not, stands
// for no boundary.
template <class Tuple>
struct Rank {
  static_assert(std::is_empty_v<Tuple>, "coordinates are made by nvshmemx::make_shape()");
  static constexpr std::size_t value = 0;
};
template <class... Ts>
struct Rank<WEFT_NVSHMEM_STD::tuple<Ts...>> {
  static constexpr std::size_t value = sizeof...(Ts);
};

template <std::size_t kDim, class Tuple>
WEFT_DEVICE std::int64_t number(const Tuple& tuple, std::int64_t otherwise) {
  if constexpr (kDim < Rank<Tuple>::value)
    return static_cast<std::int64_t>(WEFT_NVSHMEM_STD::get<kDim>(tuple));
  else
    return otherwise;
}
template <std::size_t kDim, class Tensor>
WEFT_DEVICE std::int64_t extent(const Tensor& tensor) {
  return number<kDim>(tensor.shape(), 1);
}
template <std::size_t kDim, class Tensor>
WEFT_DEVICE std::int64_t stride(const Tensor& tensor) {
  return number<kDim>(tensor.stride(), 0);
}
// The part of the tile's extent that lies before the boundary.
template <std::size_t kDim, class Tensor, class Tuple>
WEFT_DEVICE std::int64_t extent_within(const Tensor& tensor, const Tuple& start,
                                       const Tuple& boundary) {
  const std::int64_t whole = extent<kDim>(tensor);
  const std::int64_t left = number<kDim>(boundary, whole) - number<kDim>(start, 0);
  return left < whole ? left : whole;
}

template <class Tensor>
inline constexpr std::size_t dims = Rank<decltype(std::declval<Tensor>().shape())>::value;
// The dimensions of the end that has more of them; one for a single element.
template <class Src, class Dst>
using Dims = std::make_index_sequence < dims<Src> + dims<Dst> == 0
                 ? 1
                 : dims<Src><dims<Dst> ? dims<Dst> : dims<Src>>;

template <class Src, class Dst, class Tuple, std::size_t... kDim>
WEFT_DEVICE auto shape_of(const Src& src, const Dst& dst, const Tuple& start, const Tuple& boundary,
                          std::index_sequence<kDim...>) {
  return dev::TileShape<static_cast<int>(sizeof...(kDim))>{
      {extent_within<kDim>(src, start, boundary)...},
      {stride<kDim>(dst)...},
      {stride<kDim>(src)...}};
}

template <class Src, class Dst, std::size_t... kDim>
WEFT_DEVICE bool same_extents(const Src& src, const Dst& dst, std::index_sequence<kDim...>) {
  return ((extent<kDim>(src) == extent<kDim>(dst)) && ...);
}

template <class Src, class Dst>
WEFT_DEVICE bool are_there(const Src& src, const Dst& dst, std::uint64_t flag) {
  static_assert(std::is_same_v<typename Src::value_type, typename Dst::value_type>,
                "source and destination have the same type of element");
  return flag == 0 && src.data() != nullptr && dst.data() != nullptr;
}
template <class Src, class Dst>
WEFT_DEVICE bool go_together(const Src& src, const Dst& dst, std::uint64_t flag) {
  return are_there(src, dst, flag) && same_extents(src, dst, Dims<Src, Dst>{});
}

// The tiles of an allgather fill dst in rank order: along the dimension of the smallest stride
// first, then along that of the next. One dimension of that.
struct Places {
  std::int64_t mine;    // the extent of one tile
  std::int64_t many;    // tiles side by side
  std::int64_t stride;  // of dst
  bool divides;
};
template <std::size_t kDim, class Src, class Dst>
WEFT_DEVICE Places places_along(const Src& src, const Dst& dst) {
  const std::int64_t mine = extent<kDim>(src), all = extent<kDim>(dst);
  const std::int64_t many = mine == 0 ? 0 : all / mine;
  return {mine, many, stride<kDim>(dst), mine * many == all};
}

// Where in dst the tile of `rank` begins, in elements; -1 unless dst is made of `size` tiles.
template <class Src, class Dst, std::size_t... kDim>
WEFT_DEVICE std::int64_t place_of_rank(const Src& src, const Dst& dst, int rank, int size,
                                       std::index_sequence<kDim...>) {
  constexpr int kDims = sizeof...(kDim);
  const Places along[kDims] = {places_along<kDim>(src, dst)...};
  if (!(along[kDim].divides && ...) || (along[kDim].many * ...) != size) return -1;
  std::int64_t place = 0;
  for (int d = 0; d < kDims; ++d) {
    std::int64_t before = 1;
    for (int e = 0; e < kDims; ++e)
      if (along[e].stride < along[d].stride || (along[e].stride == along[d].stride && e < d))
        before *= along[e].many;
    place += rank / before % along[d].many * along[d].mine * along[d].stride;
  }
  return place;
}

template <int kDims>
WEFT_DEVICE bool holds_nothing(const dev::TileShape<kDims>& shape) {
  bool nothing = false;
  for (int d = 0; d < kDims; ++d) nothing = nothing || shape.extent[d] <= 0;
  return nothing;
}

// The results of a two-shot reduction go from my dst to that of others.
template <int kDims>
WEFT_DEVICE dev::TileShape<kDims> from_dst(dev::TileShape<kDims> shape) {
  for (int d = 0; d < kDims; ++d) shape.src_stride[d] = shape.dst_stride[d];
  return shape;
}

// Whether a member has all that is for it when its own call is done.
WEFT_HOST_DEVICE constexpr bool is_done_alone(names::tile_coll_algo_t algorithm) {
  return algorithm == names::NVLS_ONE_SHOT_PULL_NBI;
}
WEFT_HOST_DEVICE constexpr bool has_a_root(names::tile_coll_algo_t algorithm) {
  return algorithm == names::NVLS_TWO_SHOT_PUSH_NBI || algorithm == names::NVLS_TWO_SHOT_PULL_NBI;
}

}  // namespace tiles

template <class Scope>
struct Tiles {
  template <names::tile_algo_t, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int put(Src src, Dst dst, Tuple start, Tuple boundary, int pe,
                             std::uint64_t flag) {
    if (!tiles::go_together(src, dst, flag)) return NVSHMEMX_ERROR_INVALID_VALUE;
    dev::put_tile_nbi(context(), Scope{}, dst.data(), src.data(), shape(src, dst, start, boundary),
                      pe);
    return NVSHMEMX_SUCCESS;
  }
  template <names::tile_algo_t, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int get(Src src, Dst dst, Tuple start, Tuple boundary, int pe,
                             std::uint64_t flag) {
    if (!tiles::go_together(src, dst, flag)) return NVSHMEMX_ERROR_INVALID_VALUE;
    dev::get_tile_nbi(context(), Scope{}, dst.data(), src.data(), shape(src, dst, start, boundary),
                      pe);
    return NVSHMEMX_SUCCESS;
  }

  // From me to all, whoever else calls.
  template <names::tile_coll_algo_t kAlgorithm, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int broadcast(nvshmem_team_t team, Src src, Dst dst, Tuple start,
                                   Tuple boundary, std::uint64_t flag) {
    static_assert(!tiles::is_done_alone(kAlgorithm), "who receives a broadcast does not call it");
    const Team members = team_of(team);
    if (!tiles::go_together(src, dst, flag) || !members.is_member())
      return NVSHMEMX_ERROR_INVALID_VALUE;
    put_to_all(members, dst.data(), src.data(), shape(src, dst, start, boundary));
    return NVSHMEMX_SUCCESS;
  }

  template <names::tile_coll_algo_t kAlgorithm, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int allgather(nvshmem_team_t team, Src src, Dst dst, Tuple start,
                                   Tuple boundary, std::uint64_t flag) {
    const Team members = team_of(team);
    if (!tiles::are_there(src, dst, flag) || !members.is_member())
      return NVSHMEMX_ERROR_INVALID_VALUE;
    const auto part = shape(src, dst, start, boundary);
    const std::int64_t place =
        tiles::place_of_rank(src, dst, members.rank, members.size, tiles::Dims<Src, Dst>{});
    if (place < 0 && !is_empty(src)) return NVSHMEMX_ERROR_INVALID_VALUE;
    if (place >= 0) put_to_all(members, dst.data() + place, src.data(), part);
    if constexpr (tiles::is_done_alone(kAlgorithm))
      return Collectives<Scope>::barrier(team);
    else
      return NVSHMEMX_SUCCESS;
  }

  template <ReduceOp kOp, names::tile_coll_algo_t kAlgorithm, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int allreduce(nvshmem_team_t team, Src src, Dst dst, Tuple start,
                                   Tuple boundary, int root, std::uint64_t flag) {
    if constexpr (!tiles::has_a_root(kAlgorithm)) {
      return fold<kOp>(team, src, dst, start, boundary, dev::kEachMember, flag);
    } else {
      const int code = reduce<kOp, kAlgorithm>(team, src, dst, start, boundary, root, flag);
      const Team members = team_of(team);
      if (code == NVSHMEMX_SUCCESS && root == members.rank)
        put_to_all(members, dst.data(), dst.data(),
                   tiles::from_dst(shape(src, dst, start, boundary)));
      return code;
    }
  }
  // To the member of rank `root` only.
  template <ReduceOp kOp, names::tile_coll_algo_t, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int reduce(nvshmem_team_t team, Src src, Dst dst, Tuple start, Tuple boundary,
                                int root, std::uint64_t flag) {
    if (root < 0 || root >= team_of(team).size) return NVSHMEMX_ERROR_INVALID_VALUE;
    return fold<kOp>(team, src, dst, start, boundary, root, flag);
  }

  // Data that the algorithm pushed has arrived once all members are here; data that it pulled is
  // here.
  template <names::tile_coll_algo_t kAlgorithm>
  WEFT_DEVICE static int wait(nvshmem_team_t team, std::uint64_t flag) {
    if (flag != 0 || !team_of(team).is_member()) return NVSHMEMX_ERROR_INVALID_VALUE;
    if constexpr (!tiles::is_done_alone(kAlgorithm)) return Collectives<Scope>::barrier(team);
    context().quiet(Scope{});
    return NVSHMEMX_SUCCESS;
  }

 private:
  template <class Src, class Dst, class Tuple>
  WEFT_DEVICE static auto shape(const Src& src, const Dst& dst, const Tuple& start,
                                const Tuple& boundary) {
    return tiles::shape_of(src, dst, start, boundary, tiles::Dims<Src, Dst>{});
  }
  template <class Src>
  WEFT_DEVICE static bool is_empty(const Src& src) {
    constexpr auto kNoBoundary = WEFT_NVSHMEM_STD::tuple<>();
    return tiles::holds_nothing(shape(src, src, kNoBoundary, kNoBoundary));
  }
  template <ReduceOp kOp, class Src, class Dst, class Tuple>
  WEFT_DEVICE static int fold(nvshmem_team_t team, const Src& src, const Dst& dst,
                              const Tuple& start, const Tuple& boundary, int root,
                              std::uint64_t flag) {
    const Team members = team_of(team);
    if (!tiles::go_together(src, dst, flag) || !members.is_member())
      return NVSHMEMX_ERROR_INVALID_VALUE;
    return code_of(dev::reduce_tile<kOp>(context(), Scope{}, members, dst.data(), src.data(),
                                         shape(src, dst, start, boundary), root));
  }
  // Beginning behind me, so that not all members write to the same one; mine is the last.
  template <class T, int kDims>
  WEFT_DEVICE static void put_to_all(const Team& members, T* dst, const T* src,
                                     const dev::TileShape<kDims>& part) {
    for (int distance = 1; distance <= members.size; ++distance) {
      const int rank = dev::wrapped(members.rank + distance, members.size);
      if (rank == members.rank && dst == src) continue;
      dev::put_tile_nbi(context(), Scope{}, dst, src, part, members.pe_of(rank));
    }
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
