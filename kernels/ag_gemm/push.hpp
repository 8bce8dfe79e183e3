// Push: rows to others, then a wait for theirs, by some blocks beside the product
// (kernels/core/gathering.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/ag_gemm/call.hpp"
#include "kernels/core/block_wait.hpp"
#include "kernels/core/pause.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct Push {
  static constexpr unsigned kMostThreads = kPushThreads;
  PushCall call;
  unsigned stage_bytes;  // of shared memory, for the engine of bulk copies

  WEFT_DEVICE void operator()() const { run(dev::block_rank(), dev::grid_size()); }

  WEFT_DEVICE void run(unsigned block, unsigned blocks) const {
    const Gathering& g = call.gathering;
    const dev::Context ctx(call.handle);
    if (ctx.signal_fetch(g.broken) != 0) return;
    const std::uint64_t round = g.push_rounds[block] + 1;
    const unsigned pieces = static_cast<unsigned>((g.rows + kGatherRows - 1) / kGatherRows);
    const unsigned all = static_cast<unsigned>(g.count - 1) * pieces;
    bool ok = true;
    // Rank r begins with its own rows, and goes on with those of r + 1: so r - 1 needs mine first.
    // Either I put them to r - 2 and so on as well, or r - 1 does, and I what comes from r + 1.
    for (unsigned i = block; ok && i < all; i += blocks) {
      const int hop = static_cast<int>(i / pieces), piece = static_cast<int>(i % pieces);
      const int segment = call.goes_round ? rank_at(hop) : g.own;
      ok = segment == g.own || wait(ctx, segment, piece, round);
      if (ok) put(ctx, rank_at(call.goes_round ? -1 : -1 - hop), segment, piece, round);
    }
    // The product waits for the same flags, and leaves deadlines and reports to this.
    WEFT_KERNELS_PAUSE(kBeforeWait);
    for (unsigned i = block; ok && i < all; i += blocks)
      ok =
          wait(ctx, rank_at(1 + static_cast<int>(i / pieces)), static_cast<int>(i % pieces), round);
    WEFT_KERNELS_PAUSE(kBeforeExit);
    dev::Block{}.sync();  // all threads have read the round
    if (dev::thread_rank() == 0) g.push_rounds[block] = round;
  }

 private:
  WEFT_DEVICE std::uint64_t* flag_of(int segment, int piece) const {
    return call.gathering.flags + segment * call.gathering.pieces + piece;
  }

  // So many behind mine, or before it.
  WEFT_DEVICE int rank_at(int distance) const {
    const int rank = call.gathering.own + distance, count = call.gathering.count;
    return rank < 0 ? rank + count : rank < count ? rank : rank - count;
  }

  // Until that piece has come. False, for all threads: the deadline passed, and the report names
  // whose rows are missing, also where another passes them on.
  WEFT_DEVICE bool wait(const dev::Context& ctx, int segment, int piece,
                        std::uint64_t round) const {
    const dev::Flag flag{flag_of(segment, piece), call.team.pe_of(segment)};
    // Acquire: pairs with the release of put() there, so that round + 1 may come.
    if (wait_by_block(ctx, "AgGemm", flag, round)) return true;
    if (dev::thread_rank() == 0) ctx.atomic_set(call.gathering.broken, round, ctx.pe());
    return false;
  }

  WEFT_DEVICE void put(const dev::Context& ctx, int rank, int segment, int piece,
                       std::uint64_t round) const {
    const Gathering& g = call.gathering;
    const int first = piece * kGatherRows;
    const int rows = g.rows - first < kGatherRows ? g.rows - first : kGatherRows;
    const bool is_mine = segment == g.own;
    std::byte* const to = g.row_of(round, segment, first);
    const std::byte* const from = is_mine ? call.rows + first * call.row_stride : to;
    const std::size_t stride = is_mine ? call.row_stride : g.stride;
    const int pe = call.team.pe_of(rank);
    WEFT_KERNELS_PAUSE(kBeforeData);
    if (stride == call.row_bytes && g.stride == call.row_bytes) {
      const dev::Bulk<dev::Block> scope(dev::Block{}, dev::shared<std::byte>(), stage_bytes);
      // Release: pairs with the acquire of the wait there, and of the product's.
      ctx.put(scope, to, from, rows * call.row_bytes, pe,
              weft::set(flag_of(segment, piece), round));
      return;
    }
    for (int row = 0; row < rows; ++row)
      ctx.put(dev::Block{}, to + row * g.stride, from + row * stride, call.row_bytes, pe);
    ctx.fence(dev::Block{});  // the flag after all of the rows
    if (dev::thread_rank() == 0) ctx.signal(weft::set(flag_of(segment, piece), round), pe);
  }
};

struct CopyGathered {
  static constexpr unsigned kMostThreads = kPushThreads;
  CopyCall call;

  WEFT_DEVICE void operator()() const {
    const Gathering& g = call.gathering;
    if (*g.broken != 0) return;  // set by a push before this on the stream
    const std::uint64_t round = g.push_rounds[0];
    const auto rows = static_cast<std::size_t>(g.rows);
    const std::size_t all = rows * static_cast<std::size_t>(g.count);
    for (std::size_t i = dev::block_rank(); i < all; i += dev::grid_size()) {
      const int segment = static_cast<int>(i / rows), row = static_cast<int>(i % rows);
      const std::byte* const from =
          segment == g.own ? call.own + row * call.own_stride : g.row_of(round, segment, row);
      dev::copy(dev::Block{}, call.to + i * call.row_bytes, from, call.row_bytes);
    }
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
