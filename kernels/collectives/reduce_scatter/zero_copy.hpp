// ReduceScatter of symmetric buffers.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/collectives/zero_copy_call.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Each folds its part out of all inputs.
template <class T>
struct ReduceScatterZeroCopy : ZeroCopyCall {
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const Span span = span_of(m.bytes);
    run("ReduceScatter", span, Touches::kIn, [&](const SimpleChannel&, const PeerBuffers* peers) {
      const std::size_t from = static_cast<std::size_t>(team.rank) * m.in_stride + span.begin;
      const auto source = [&](int rank) { return peers[rank].in + from; };
      fold_block<T>(op, m.out + span.begin, team.size, source, span.bytes);
      return true;
    });
  }
};

struct ReduceScatterByZeroCopy : ReduceByZeroCopy<ReduceScatterZeroCopy> {
  static constexpr AlgorithmTraits kTraits{Algorithm::kZeroCopy, Protocol::kZeroCopy};
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
