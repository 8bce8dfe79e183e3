// AllGather and AllToAll by Lamport, of any data.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/lamport_call.hpp"
#include "kernels/collectives/start_lamport.hpp"
#include "kernels/protocol/escaped_lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllGather (in_stride 0) and AllToAll.
template <class Pairs, int kOthers, bool kPasses>
struct MoveLamport : LamportCall<EscapedLamportChannel, Pairs, kOthers, kPasses> {
  WEFT_DEVICE void operator()() const {
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->in(rank), pair);
    };
    const auto pass = [&](const EscapedLamportChannel& channel, auto& next, const Pass& of) {
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      this->send(channel, next, of, p, true);
      for (; p < of.count; p += step) {
        this->send(channel, next, of, p + step, false);
        const auto own = [&] { return get(this->team.rank, of.first + p); };
        const auto use = [&](int rank, dev::LamportPair data) {
          this->pairs().store(this->out(rank), of.first + p, data);
        };
        if (!channel.template take<kOthers>(of.offset + p, own, use)) return false;
      }
      return true;
    };
    const bool same = this->m.in_stride == 0;
    this->run(same ? "AllGather" : "AllToAll", 1, ceil_div(this->m.bytes, sizeof(Vector)), same,
              get, pass);
  }
};

struct MoveByLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLamport, Protocol::kLamport, Parts::kOne,
                                           Algorithm::kLL};
  static Status run(const CollectiveCall& call, Stream stream) {
    return start_lamport<MoveLamport>(call, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
