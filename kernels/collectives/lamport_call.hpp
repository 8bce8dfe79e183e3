// Collectives by Lamport, two words at a time, in one round or two: for messages between the
// smallest, which LL sends in twice the bytes, and those by Simple, whose signals wait for the
// data before them.
//
// A block has a contiguous share of every message. A thread sends a pair ahead of the one that it
// takes, so that links are busy while it folds; so out may be in, where the two are laid out alike.
//
// A message that is larger than its slots goes in passes, alternately in their first and their
// second half. A half is free again once all threads of the peer block have taken what lay there,
// and a signal says so: it has the time of a pass to arrive.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/kernel_call.hpp"
#include "kernels/core/cluster.hpp"
#include "kernels/core/fold.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/protocol/outgoing.hpp"
#include "kernels/protocol/simple_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The pairs of a message; beyond its end are zeros, which go nowhere. Here all are whole, each at a
// multiple of 16 bytes: a kernel of its own, since one that asks of each waits for each.
struct WholePairs {
  std::size_t bytes;
  template <int kOthers>
  static constexpr int kAhead = kOthers == 1 ? 1 : 0;  // more want too many registers
  static bool are_in(const Messages& m) {
    return is_aligned(m.in) && is_aligned(m.out) && (m.in_stride | m.bytes) % sizeof(Vector) == 0;
  }
  WEFT_DEVICE dev::LamportPair load(const std::byte* message, std::size_t pair) const {
    if (pair >= bytes / sizeof(Vector)) return {0, 0};
    const Vector loaded = reinterpret_cast<const Vector*>(message)[pair];
    return {loaded.low, loaded.high};
  }
  WEFT_DEVICE void store(std::byte* message, std::size_t pair, dev::LamportPair data) const {
    if (pair < bytes / sizeof(Vector))
      reinterpret_cast<Vector*>(message)[pair] = {data.first, data.second};
  }
};
// The same of any message.
struct AnyPairs {
  std::size_t bytes;
  template <int kOthers>
  static constexpr int kAhead = 0;
  WEFT_DEVICE dev::LamportPair load(const std::byte* message, std::size_t pair) const {
    return {unit(message, 2 * pair), unit(message, 2 * pair + 1)};
  }
  WEFT_DEVICE void store(std::byte* message, std::size_t pair, dev::LamportPair data) const {
    const std::size_t units = dev::packed_units(bytes);
    if (2 * pair < units) dev::store_unit(message, bytes, 2 * pair, data.first);
    if (2 * pair + 1 < units) dev::store_unit(message, bytes, 2 * pair + 1, data.second);
  }

 private:
  WEFT_DEVICE std::uint64_t unit(const std::byte* message, std::size_t index) const {
    return index < dev::packed_units(bytes) ? dev::load_unit(message, bytes, index) : 0;
  }
};

// Pairs of my block's, the first of which lies `offset` pairs from the slot's beginning.
struct Pass {
  std::size_t first, count, offset;
};

// A call with messages that are Pairs, through a LamportChannel or an EscapedLamportChannel; those
// of kOthers are waited for at once. kPasses: there are several.
template <class Lamport, class Pairs, int kOthers, bool kPasses>
struct LamportCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  static constexpr bool kStartsEarly = true;
  std::size_t piece;  // bytes of a pass; without passes 0

  WEFT_DEVICE Pairs pairs() const { return {m.bytes}; }
  // pass(channel, next, Pass) for each pass of so many pairs, which blocks share; false: gave up.
  // Passes are in the same rounds. `next` is Outgoing of get(rank, pair); where there are no passes
  // it has this thread's first.
  template <class Get, class OnePass>
  WEFT_DEVICE void run(const char* where, int rounds, std::size_t all, bool same, Get get,
                       OnePass pass) const {
    const Share share = share_of(2 * all);
    const std::size_t first = share.begin / 2, count = (share.count + 1) / 2;
    Outgoing<Pairs::template kAhead<kOthers>, Get> next(team, same, get);
    const dev::Context ctx(handle);
    Lamport channel(ctx, team, space, where);
    wait_in_stream();
    if (share.count == 0) return;
    if (!kPasses && dev::thread_rank() < count) next.load(first + dev::thread_rank());
    channel.begin();
    pause(Point::kBeforeData);
    bool ok = channel.is_open();
    if (ok) {
      channel.enter();
      if constexpr (kPasses)
        ok = run_passes(ctx, where, first, count,
                        [&](const Pass& one) { return pass(channel, next, one); });
      else
        ok = pass(channel, next, Pass{first, count, 0});
      if (rounds == 2) channel.enter();
    }
    channel.close(ok);
  }
  template <class OnePass>
  WEFT_DEVICE bool run_passes(const dev::Context& ctx, const char* where, std::size_t first,
                              std::size_t count, OnePass pass) const {
    SimpleChannel taken(ctx, team, space, where);
    const std::size_t most = piece / sizeof(Vector);
    std::uint64_t before = 0, now = 0;  // the rounds that say that the last two have been taken
    bool ok = taken.is_open();
    for (std::size_t done = 0; ok && done < count; done += most) {
      ok = before == 0 || taken.wait_for_all(before);
      const std::size_t offset = done / most % 2 * most;
      ok = ok && pass(Pass{first + done, min(most, count - done), offset});
      ok = dev::Block{}.all(ok);
      before = now;
      now = taken.enter();
      if (ok) taken.signal_to_mapped(now);
    }
    // Nobody polls any more the slots where the next call begins.
    ok = ok && taken.wait_for_all(now);
    taken.close(ok);
    return ok;
  }
  // Pair p of the pass, if it is there, to the others; only the first may have been asked for.
  template <class Next>
  WEFT_DEVICE static void send(const Lamport& channel, Next& next, const Pass& of, std::size_t p,
                               bool is_first) {
    if (p >= of.count) return;
    if (kPasses || !is_first) next.load(of.first + p);
    next.send([&](int rank, dev::LamportPair data) {
      channel.send(rank, of.offset + p, Lamport::carried(data));
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
