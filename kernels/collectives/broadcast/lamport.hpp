// Broadcast by Lamport, of any data.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/lamport_call.hpp"
#include "kernels/collectives/start_lamport.hpp"
#include "kernels/protocol/escaped_lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The root sends a part to each of the others, who passes it on: so each byte leaves it once. Both
// are of one round, since each sender has slots of its own. The others send the root a pair of
// nothing, so that everybody receives from everybody.
template <class Pairs, bool kPasses>
struct BroadcastLamport : LamportCall<EscapedLamportChannel, Pairs, 3, kPasses> {
  int root;
  void set(int of_call) { root = of_call; }
  WEFT_DEVICE void operator()() const {
    const std::size_t of_part = ceil_div(ceil_div(this->m.bytes, sizeof(Vector)), this->parts());
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->m.in, begin_of(rank, of_part) + pair);
    };
    const auto pass = [&](const EscapedLamportChannel& channel, auto& next, const Pass& of) {
      return this->team.rank == root ? send_parts(channel, next, of_part, of)
                                     : forward(channel, of_part, of);
    };
    this->run("Broadcast", 1, of_part, false, get, pass);
  }

 private:
  // Where that rank's part begins.
  WEFT_DEVICE std::size_t begin_of(int rank, std::size_t of_part) const {
    return this->part_of(rank, root) * of_part;
  }
  template <class Next>
  WEFT_DEVICE bool send_parts(const EscapedLamportChannel& channel, Next& next, std::size_t of_part,
                              const Pass& of) const {
    const std::size_t step = dev::block_size(), mine = dev::thread_rank();
    for (std::size_t p = mine; p < of.count; p += step) this->send(channel, next, of, p, p == mine);
    if (this->m.in != this->m.out)
      for (std::size_t part = 0; part < this->parts(); ++part)
        for (std::size_t p = mine; p < of.count; p += step) {
          const std::size_t pair = part * of_part + of.first + p;
          this->pairs().store(this->m.out, pair, this->pairs().load(this->m.in, pair));
        }
    const auto nothing = [](int, dev::LamportPair) {};
    return mine != 0 || take_of_others(channel, of.offset, nothing);
  }
  // Pairs of mine as they come, and those of the others behind them.
  WEFT_DEVICE bool forward(const EscapedLamportChannel& channel, std::size_t of_part,
                           const Pass& of) const {
    const std::size_t step = dev::block_size(), mine = dev::thread_rank();
    const auto store = [&](int rank, std::size_t p, dev::LamportPair data) {
      this->pairs().store(this->m.out, begin_of(rank, of_part) + of.first + p, data);
    };
    const auto take_others = [&](std::size_t p) {
      return take_of_others(channel, of.offset + p,
                            [&](int rank, dev::LamportPair data) { store(rank, p, data); });
    };
    if (mine == 0) channel.send(root, of.offset, EscapedLamportChannel::carried({0, 0}));
    bool ok = true;
    for (std::size_t p = mine; ok && p < of.count; p += step) {
      dev::LamportPair data;
      ok = channel.take_from(root, of.offset + p, &data);
      if (!ok) break;
      const auto carried = EscapedLamportChannel::carried(data);
      for (int i = 1; i < this->team.size; ++i)
        if (channel.other(i) != root) channel.send(channel.other(i), of.offset + p, carried);
      store(this->team.rank, p, data);
      ok = p == mine || take_others(p - step);
      if (ok && p + step >= of.count) ok = take_others(p);
    }
    return ok;
  }
  // Pair `at` of each of the others but the root, one after the other.
  template <class Use>
  WEFT_DEVICE bool take_of_others(const EscapedLamportChannel& channel, std::size_t at,
                                  Use use) const {
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.before(i);
      dev::LamportPair data;
      if (rank == root) continue;
      if (!channel.take_from(rank, at, &data)) return false;
      use(rank, data);
    }
    return true;
  }
};

struct BroadcastByLamport {
  static constexpr AlgorithmTraits kTraits{Algorithm::kLamport, Protocol::kLamport, Parts::kOthers,
                                           Algorithm::kLL};
  // One other at a time, whoever there is.
  template <class Pairs, int, bool kPasses>
  using Kernel = BroadcastLamport<Pairs, kPasses>;
  static Status run(const BroadcastCall& call, Stream stream) {
    return start_lamport<Kernel>(call, stream, call.root);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
