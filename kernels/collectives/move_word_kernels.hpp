// Words (word_kernels.hpp) of any data that nothing is done to: AllGather, AllToAll and Broadcast.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/word_kernels.hpp"
#include "kernels/core/any_word_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllGather (in_stride 0) and AllToAll.
template <class Pairs, int kOthers, bool kLaps>
struct MoveWords : WordCall<AnyWordChannel, Pairs, kOthers, kLaps> {
  WEFT_DEVICE void operator()() const {
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->in(rank), pair);
    };
    const auto lap = [&](const AnyWordChannel& channel, auto& next, const Lap& of) {
      const std::size_t step = dev::block_size();
      std::size_t p = dev::thread_rank();
      this->send(channel, next, of, p, true);
      for (; p < of.count; p += step) {
        this->send(channel, next, of, p + step, false);
        const auto own = [&] { return get(this->team.rank, of.first + p); };
        const auto use = [&](int rank, dev::WordPair data) {
          this->pairs().store(this->out(rank), of.first + p, data);
        };
        if (!channel.template take<kOthers>(of.place + p, own, use)) return false;
      }
      return true;
    };
    const bool same = this->m.in_stride == 0;
    this->run(same ? "AllGather" : "AllToAll", 1, shares(this->m.bytes, sizeof(Vector)), same, get,
              lap);
  }
};

// The root sends a part to each of the others, who passes it on: so each byte leaves it once. Both
// are of one round, since places are of who sends. The others send the root a pair of nothing, so
// that everybody hears from everybody.
template <class Pairs, bool kLaps>
struct BroadcastWords : WordCall<AnyWordChannel, Pairs, 3, kLaps> {
  WEFT_DEVICE void operator()() const {
    const std::size_t of_part = shares(shares(this->m.bytes, sizeof(Vector)), this->parts());
    const auto get = [&](int rank, std::size_t pair) {
      return this->pairs().load(this->m.in, begin_of(rank, of_part) + pair);
    };
    const auto lap = [&](const AnyWordChannel& channel, auto& next, const Lap& of) {
      return this->team.rank == this->root ? send_parts(channel, next, of_part, of)
                                           : pass_on(channel, of_part, of);
    };
    this->run("Broadcast", 1, of_part, false, get, lap);
  }

 private:
  // Where that rank's part begins.
  WEFT_DEVICE std::size_t begin_of(int rank, std::size_t of_part) const {
    return this->part_of(rank, this->root) * of_part;
  }
  template <class Next>
  WEFT_DEVICE bool send_parts(const AnyWordChannel& channel, Next& next, std::size_t of_part,
                              const Lap& of) const {
    const std::size_t step = dev::block_size(), mine = dev::thread_rank();
    for (std::size_t p = mine; p < of.count; p += step) this->send(channel, next, of, p, p == mine);
    if (this->m.in != this->m.out)
      for (std::size_t part = 0; part < this->parts(); ++part)
        for (std::size_t p = mine; p < of.count; p += step) {
          const std::size_t pair = part * of_part + of.first + p;
          this->pairs().store(this->m.out, pair, this->pairs().load(this->m.in, pair));
        }
    const auto nothing = [](int, dev::WordPair) {};
    return mine != 0 || take_of_others(channel, of.place, nothing);
  }
  // Pairs of mine as they come, and those of the others behind them.
  WEFT_DEVICE bool pass_on(const AnyWordChannel& channel, std::size_t of_part,
                           const Lap& of) const {
    const std::size_t step = dev::block_size(), mine = dev::thread_rank();
    const auto store = [&](int rank, std::size_t p, dev::WordPair data) {
      this->pairs().store(this->m.out, begin_of(rank, of_part) + of.first + p, data);
    };
    const auto take_others = [&](std::size_t p) {
      return take_of_others(channel, of.place + p,
                            [&](int rank, dev::WordPair data) { store(rank, p, data); });
    };
    if (mine == 0) channel.send(this->root, of.place, AnyWordChannel::carried({0, 0}));
    bool ok = true;
    for (std::size_t p = mine; ok && p < of.count; p += step) {
      dev::WordPair data;
      ok = channel.take_from(this->root, of.place + p, &data);
      if (!ok) break;
      const auto carried = AnyWordChannel::carried(data);
      for (int i = 1; i < this->team.size; ++i)
        if (channel.other(i) != this->root) channel.send(channel.other(i), of.place + p, carried);
      store(this->team.rank, p, data);
      ok = p == mine || take_others(p - step);
      if (ok && p + step >= of.count) ok = take_others(p);
    }
    return ok;
  }
  // Pair `at` of each of the others but the root, one after the other.
  template <class Use>
  WEFT_DEVICE bool take_of_others(const AnyWordChannel& channel, std::size_t at, Use use) const {
    for (int i = 1; i < this->team.size; ++i) {
      const int rank = channel.before(i);
      dev::WordPair data;
      if (rank == this->root) continue;
      if (!channel.take_from(rank, at, &data)) return false;
      use(rank, data);
    }
    return true;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
