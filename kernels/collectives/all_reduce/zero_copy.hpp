// AllReduce of symmetric buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/collectives/zero_copy_call.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The same of a part of the message for each, which goes into all outputs.
template <class T>
struct AllReduceZeroCopy : ZeroCopyCall {
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const std::size_t part =
        align_up(ceil_div(m.bytes, static_cast<std::size_t>(team.size)), sizeof(Vector));
    const Span span = span_of(part);
    run("AllReduce", span, Touches::kBoth, [&](const SimpleChannel&, const PeerBuffers* peers) {
      const std::size_t begin =
          min(static_cast<std::size_t>(team.rank) * part + span.begin, m.bytes);
      const auto source = [&](int rank) { return peers[rank].in + begin; };
      fold_block_to<T>(op, ToAll{peers, begin, team.rank, team.size}, team.size, source,
                       min(span.bytes, m.bytes - begin));
      return true;
    });
  }

 private:
  struct ToAll {
    const PeerBuffers* peers;
    std::size_t begin;
    int rank, size;

    // From mine on: at any time all store to different ones.
    template <class Store>
    WEFT_DEVICE void each(Store store) const {
      for (int i = rank; i < size; ++i) store(peers[i].out + begin);
      for (int i = 0; i < rank; ++i) store(peers[i].out + begin);
    }
    WEFT_DEVICE bool is_in_vectors() const {
      bool all = true;
      each([&](std::byte* out) { all = all && is_aligned(out); });
      return all;
    }
    WEFT_DEVICE void vector(std::size_t index, const Vector& result) const {
      each([&](std::byte* out) { reinterpret_cast<Vector*>(out)[index] = result; });
    }
    WEFT_DEVICE void unit(std::size_t bytes, std::size_t index, std::uint64_t result) const {
      each([&](std::byte* out) { dev::store_unit(out, bytes, index, result); });
    }
  };
};

struct AllReduceByZeroCopy : ReduceByZeroCopy<AllReduceZeroCopy> {
  static constexpr AlgorithmTraits kTraits{Algorithm::kZeroCopy, Protocol::kZeroCopy,
                                           Parts::kMembers};
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
