// AllReduceNorm: an AllReduce of rows to whose sums the residual is added, and a norm of each row.
// Members send the sum, from which everybody norms for himself: the norm's result would be as many
// bytes once more.
//
// The sum of a row's squares is formed in an order that depends on its length alone, not on how
// many threads or blocks there are, nor on the algorithm: see row_sums.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/ll.hpp"
#include "kernels/collectives/all_reduce/simple.hpp"
#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/collectives/all_reduce_norm/row_sums.hpp"
#include "kernels/collectives/start.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Parts of rows of up to so many bytes stay in shared memory, behind the sums, once they have come
// by LL.
inline constexpr std::size_t kMostSharedPart = 34 << 10;
WEFT_HOST_DEVICE constexpr std::size_t shared_part_bytes(std::size_t row_bytes, unsigned split) {
  const std::size_t bytes = units_of_part(row_bytes, split) * 8;
  return bytes <= kMostSharedPart ? bytes : 0;
}

WEFT_DEVICE float scale_of(const NormRows& norm, float squares) {
  return 1.0f / sqrtf(squares / static_cast<float>(norm.hidden) + norm.epsilon);
}

// A unit of a row, from that of its sums.
template <class T>
WEFT_DEVICE std::uint64_t normed(std::uint64_t sums, std::uint64_t weights, float scale) {
  UnitOfRow<T> values(sums);
  const UnitOfRow<T> by(weights);
  for (int i = 0; i < values.kCount; ++i) values.set(i, values[i] * scale * by[i]);
  return values.unit();
}

// `out` of `bytes` of a row's sums, which all threads of the block see; get_scale() is called by
// all of them, while the weights are on their way.
template <class T, int kUnits, class GetScale>
WEFT_DEVICE void norm_part(std::byte* out, const std::byte* sums, const std::byte* weight,
                           std::size_t bytes, GetScale get_scale) {
  const std::size_t units = dev::packed_units(bytes), step = dev::block_size();
  std::size_t u = dev::thread_rank();
  UnitsOfRow<kUnits> weights(weight, bytes, u, step);
  const float scale = get_scale();
  while (u < units) {
    const UnitsOfRow<kUnits> some(sums, bytes, u, step);
    for (int k = 0; k < kUnits; ++k) {
      const std::size_t unit = u + static_cast<unsigned>(k) * step;
      const std::uint64_t result = normed<T>(some.units[k], weights.units[k], scale);
      if (unit < units) dev::store_unit(out, bytes, unit, result);
    }
    u += kUnits * step;
    if (u < units) weights = UnitsOfRow<kUnits>(weight, bytes, u, step);
  }
}

// In one shot (Sums: FoldLL) or two (TwoShotLL): a row to norm.split blocks.
// A thread has kUnits units under way.
template <class T, class Sums, int kUnits>
struct NormLL : Sums {
  static constexpr unsigned kMostThreads = kMostThreadsOfRows;
  static constexpr bool kStartsEarly = false;
  NormRows norm;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(this->handle);
    LLChannel channel(ctx, this->team, this->space, "AllReduceNorm");
    const RowSums<T, kUnits> squares(ctx, this->space, norm.split, shared());
    const std::size_t rows = this->m.bytes / norm.row_bytes, groups = dev::grid_size() / norm.split;
    const std::size_t part = units_of_part(norm.row_bytes, norm.split) * 8;
    const std::size_t begin = dev::block_rank() % norm.split * part;
    std::size_t row = dev::block_rank() / norm.split;
    if (row < groups && row < rows && begin < norm.row_bytes) {
      const std::size_t bytes = min(part, norm.row_bytes - begin);
      bool ok = channel.open();
      for (std::uint64_t count = 0; ok && row < rows; row += groups, ++count)
        ok = norm_one(channel, squares, row * norm.row_bytes + begin, begin, bytes, count);
      channel.close(ok);
    }
    squares.close((rows + groups - 1) / groups);
  }

 private:
  // Its part of the count-th row: `at` in all rows, `begin` in its own.
  WEFT_DEVICE bool norm_one(LLChannel& channel, const RowSums<T, kUnits>& squares, std::size_t at,
                            std::size_t begin, std::size_t bytes, std::uint64_t count) const {
    dev::Block{}.sync();  // the sums and the copy of the last row are done with
    const Sums sums = of_part(at, bytes);
    const std::size_t units = sums.units(), most = this->space.ll_slot;
    for (std::size_t done = 0; done < units; done += most) {
      channel.enter();
      if (!channel.leave(sums.round(channel, done, min(most, units - done)))) return false;
    }
    const auto* const copy = reinterpret_cast<const std::byte*>(sums.m.copy);
    const std::byte* const here = copy != nullptr ? copy : sums.m.out;
    bool ok = true;
    norm_part<T, kUnits>(norm.out + at, here, norm.weight + begin, bytes, [&] {
      float sum = 0;
      ok = squares.of_row(here, bytes, begin, norm.row_bytes, count, &sum);
      return scale_of(norm, sum);
    });
    return ok;
  }
  WEFT_DEVICE Sums of_part(std::size_t at, std::size_t bytes) const {
    Sums sums = static_cast<const Sums&>(*this);
    sums.m.in += at;
    sums.m.out += at;
    sums.m.addend += at;
    sums.m.bytes = bytes;
    if (shared_part_bytes(norm.row_bytes, norm.split) != 0)
      sums.m.copy = reinterpret_cast<std::uint64_t*>(shared() + kRowSumsBytes);
    return sums;
  }
  // Behind the channel's.
  WEFT_DEVICE std::byte* shared() const {
    return dev::shared<std::byte>() + LLChannel::shared_bytes(this->team.size);
  }
};

// A piece is as many rows as fit, or a single one, for which the workspace has room.
template <class T>
struct NormSimple : AllReduceSimple<T> {
  NormRows norm;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(this->handle);
    SimpleChannel channel(ctx, this->team, this->space, "AllReduceNorm");
    const RowSums<T, kUnitsTogether> squares(ctx, this->space, 1, dev::shared<std::byte>());
    const std::size_t most = this->piece * static_cast<std::size_t>(this->team.size);
    const std::size_t rows = most > norm.row_bytes ? most / norm.row_bytes : 1;
    const auto norm_rows = [&](std::size_t at, std::size_t bytes) {
      for (std::size_t row = at; row < at + bytes; row += norm.row_bytes) {
        dev::Block{}.sync();  // the row is there, and the sums of the last are done with
        const std::byte* const sums = this->m.out + row;
        norm_part<T, kUnitsTogether>(norm.out + row, sums, norm.weight, norm.row_bytes, [&] {
          return scale_of(norm, squares.of_whole_row(sums, norm.row_bytes));
        });
      }
    };
    channel.close(channel.is_open() && this->all_pieces(channel, rows * norm.row_bytes, norm_rows));
  }
};

template <class T, template <class, int> class Fold, int kUnits>
Status start_norm_ll(const NormCall& call, Stream stream) {
  const NormRows& n = call.norm;
  const std::size_t shared =
      shared_bytes_of_ll(call) + kRowSumsBytes + shared_part_bytes(n.row_bytes, n.split);
  using Kernel = NormLL<T, Fold<T, kUnits>, kUnits>;
  return start(call, Kernel{{ll_call(call), call.op}, n}, stream, shared);
}
template <template <class, int> class Fold>
Status run_norm_ll(const NormCall& call, Stream stream) {
  return with_float_type(call.dtype, [&](auto zero) {
    using T = decltype(zero);
    return units_of_part(call.norm.row_bytes, call.norm.split) <= call.plan.threads
               ? start_norm_ll<T, Fold, 1>(call, stream)
               : start_norm_ll<T, Fold, kUnitsTogether>(call, stream);
  });
}

struct NormByLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLL, Protocol::kLL};
  static Status run(const NormCall& call, Stream stream) {
    return run_norm_ll<FoldLL>(call, stream);
  }
};
struct NormByTwoShotLL {
  static constexpr AlgorithmTraits kTraits{Algorithm::kTwoShotLL, Protocol::kLL, Parts::kMembers};
  static Status run(const NormCall& call, Stream stream) {
    return run_norm_ll<TwoShotLL>(call, stream);
  }
};
struct NormBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple, Parts::kMembers};
  static Status run(const NormCall& call, Stream stream) {
    return with_float_type(call.dtype, [&](auto zero) {
      using Kernel = NormSimple<decltype(zero)>;
      return start(call, Kernel{{simple_call(call), call.op}, call.norm}, stream, kRowSumsBytes);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
