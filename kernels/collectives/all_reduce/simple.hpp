// AllReduce by Simple.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// In two rounds: a part of each piece to every member, who folds it and puts it to all. The parts
// of the next piece go before that, and what comes back of one is taken behind the fold of the
// next.
template <class T>
class AllReduceSimple : public SimpleCall {
 public:
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "AllReduce");
    const std::size_t step = piece * static_cast<std::size_t>(team.size);
    channel.close(channel.is_open() && all_pieces(channel, step, [](std::size_t, std::size_t) {}));
  }

 protected:
  // done(begin, bytes) of each piece of `step` bytes that is whole here; false: a wait failed.
  template <class Done>
  WEFT_DEVICE bool all_pieces(SimpleChannel& channel, std::size_t step, Done done) const {
    const auto end = [&](const Piece& p) {
      if (!take_sums(channel, p)) return false;
      done(p.begin, p.bytes);
      return true;
    };
    Piece now = piece_at(0, step), before{};
    if (now.bytes == 0) return true;
    send_parts(channel, now);
    for (std::uint64_t i = 1; now.bytes != 0; ++i) {
      Piece next = piece_at(i, step);
      if (next.bytes != 0) send_parts(channel, next);
      if (!fold_mine(channel, now)) return false;
      send_sum(channel, now);
      if (before.bytes != 0 && !end(before)) return false;
      before = now;
      now = next;
    }
    return end(before);
  }

 private:
  struct Piece {
    std::size_t begin, bytes, part;     // of each member a part
    std::uint64_t parts = 0, sums = 0;  // rounds
    WEFT_DEVICE std::size_t begin_of_part(int rank) const {
      return min(static_cast<std::size_t>(rank) * part, bytes);
    }
    WEFT_DEVICE std::size_t bytes_of_part(int rank) const {
      return begin_of_part(rank + 1) - begin_of_part(rank);
    }
  };
  WEFT_DEVICE Piece piece_at(std::uint64_t i, std::size_t step) const {
    const auto size = static_cast<std::size_t>(team.size);
    const std::size_t begin = begin_of(i, step), bytes = bytes_at(begin, step, m.bytes);
    return {begin, bytes, ((bytes + size - 1) / size + 15) / 16 * 16};
  }
  WEFT_DEVICE std::size_t mine(const Piece& p) const {
    return p.begin + p.begin_of_part(team.rank);
  }

  WEFT_DEVICE void send_parts(SimpleChannel& channel, Piece& p) const {
    p.parts = channel.enter();
    channel.put_to_all(p.parts, [&](int rank) -> SimpleChannel::Bytes {
      return {m.in + p.begin + p.begin_of_part(rank), p.bytes_of_part(rank)};
    });
  }
  WEFT_DEVICE bool fold_mine(const SimpleChannel& channel, const Piece& p) const {
    if (!channel.wait_for_all(p.parts)) return false;
    const auto source = [&](int rank) -> const std::byte* {
      if (rank == team.size) return m.addend + mine(p);
      return rank == team.rank ? m.in + mine(p) : channel.slot(p.parts, rank);
    };
    const int sources = team.size + (m.addend != nullptr ? 1 : 0);
    fold_block<T>(op, m.out + mine(p), sources, source, p.bytes_of_part(team.rank));
    channel.leave();
    return true;
  }
  WEFT_DEVICE void send_sum(SimpleChannel& channel, Piece& p) const {
    p.sums = channel.enter();
    channel.put_to_all(p.sums, [&](int) -> SimpleChannel::Bytes {
      return {m.out + mine(p), p.bytes_of_part(team.rank)};
    });
  }
  WEFT_DEVICE bool take_sums(const SimpleChannel& channel, const Piece& p) const {
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(p.sums, rank)) return false;
      dev::copy(dev::Block{}, m.out + p.begin + p.begin_of_part(rank), channel.slot(p.sums, rank),
                p.bytes_of_part(rank));
    }
    channel.leave();
    return true;
  }
};

struct AllReduceBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple, Parts::kMembers};
  template <class Call>
  static Status run(const Call& call, Stream stream) {
    return with_type(call.dtype, [&](auto zero) {
      return start(call, AllReduceSimple<decltype(zero)>{simple_call(call), call.op}, stream);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
