// Push: rows to others, then a wait for theirs, by some blocks beside the GEMM
// (kernels/protocol/all_gather_buffer.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/fused/all_gather_gemm/call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct Push {
  static constexpr unsigned kMostThreads = kPushThreads;
  PushCall call;
  unsigned stage_bytes;  // of shared memory, for the engine of bulk copies

  WEFT_DEVICE void operator()() const { run(dev::block_rank(), dev::grid_size()); }

  WEFT_DEVICE void run(unsigned block, unsigned blocks) const {
    const AllGatherBuffer& g = call.gather_buffer;
    const dev::Context ctx(call.handle);
    const std::uint64_t round = g.push_rounds[block] + 1,
                        failed_round = ctx.signal_fetch(g.failed_round());
    // The same for all threads: a failure of this round stops them only in the next.
    if (failed_round != 0 && failed_round != round) return;
    // Each warp has pieces and a part of the stage of its own: while one waits until a piece has
    // arrived, the others keep the links busy.
    const unsigned warps = (dev::block_size() + dev::warp_size() - 1) / dev::warp_size();
    const unsigned warp_rank = dev::thread_rank() / dev::warp_size();
    const unsigned bytes = stage_bytes / warps & ~127u;
    const PushWarp warp{{dev::Warp{}, dev::shared<std::byte>() + warp_rank * bytes, bytes},
                        warp_rank * blocks + block,
                        warps * blocks};
    if (!forward(ctx, warp, round) && warp.scope.rank() == 0)
      ctx.atomic_set(g.failed_round(), round, ctx.pe());
    pause(Point::kBeforeExit);
    dev::Block{}.sync();  // all threads have read the round
    if (dev::thread_rank() == 0) g.push_rounds[block] = round;
  }

 private:
  struct PushWarp {
    dev::Bulk<dev::Warp> scope;
    unsigned number, count;
  };
  struct Piece {
    int segment, number, part;
  };

  // So many behind mine, or before it.
  WEFT_DEVICE int rank_at(int distance) const {
    const int rank = call.gather_buffer.own + distance, count = call.gather_buffer.count;
    return rank < 0 ? rank + count : rank < count ? rank : rank - count;
  }
  WEFT_DEVICE std::uint64_t* flag_of(const Piece& p) const {
    return call.gather_buffer.flag_of(p.segment, p.part, p.number);
  }

  // The i-th piece of a segment, group by group: in each all rows' first part along k, then their
  // second.
  WEFT_DEVICE Piece piece_at(int segment, int i, int pieces) const {
    const int group_rows = call.group_rows,
              top = i / (group_rows * call.gather_buffer.parts) * group_rows;
    const int height = pieces - top < group_rows ? pieces - top : group_rows;
    const int within = i - top * call.gather_buffer.parts;
    return {segment, top + within % height, within / height};
  }

  // False: a wait failed.
  WEFT_DEVICE bool forward(const dev::Context& ctx, const PushWarp& warp,
                           std::uint64_t round) const {
    const AllGatherBuffer& g = call.gather_buffer;
    const int pieces = (g.rows + kGatherRows - 1) / kGatherRows;
    const auto each = static_cast<unsigned>(pieces * g.parts);
    const unsigned all = static_cast<unsigned>(g.count - 1) * each;
    // Rank r begins with its own rows, and goes on with those of r + 1: so r - 1 needs mine first.
    // Either I put them to r - 2 and so on as well, or r - 1 does, and I what comes from r + 1.
    for (unsigned i = warp.number; i < all; i += warp.count) {
      const int hop = static_cast<int>(i / each), at = static_cast<int>(i % each);
      const Piece p = piece_at(call.is_ring ? rank_at(hop) : g.own, at, pieces);
      if (p.segment != g.own && !wait(ctx, warp, p, round)) return false;
      put(ctx, warp, call.is_ring ? rank_at(-1) : rank_at(-1 - hop), p, round);
    }
    pause(Point::kBeforeWait);
    // The GEMM waits for the same flags, and leaves deadlines and reports to this.
    for (unsigned i = warp.number; i < all; i += warp.count) {
      const int hop = static_cast<int>(i / each), at = static_cast<int>(i % each);
      if (!wait(ctx, warp, piece_at(rank_at(1 + hop), at, pieces), round)) return false;
    }
    return true;
  }

  // Until that piece has come. False, for all of the warp: the deadline passed, and the report
  // names whose rows are missing, also where another passes them on.
  WEFT_DEVICE bool wait(const dev::Context& ctx, const PushWarp& warp, const Piece& p,
                        std::uint64_t round) const {
    const dev::Flag flag{flag_of(p), call.team.pe_of(p.segment)};
    // Acquire: pairs with the release of put() there, so that round + 1 may come. The others
    // acquire what this thread has at the barrier.
    return warp.scope.all(warp.scope.rank() != 0 ||
                          dev::wait_flag(ctx.handle(), "AgGemm", flag, round));
  }

  WEFT_DEVICE void put(const dev::Context& ctx, const PushWarp& warp, int rank, const Piece& p,
                       std::uint64_t round) const {
    const AllGatherBuffer& g = call.gather_buffer;
    const int first = p.number * kGatherRows;
    const int rows = g.rows - first < kGatherRows ? g.rows - first : kGatherRows;
    std::byte* const to = g.row_of(round, p.segment, p.part, first);
    const int pe = call.team.pe_of(rank);
    pause(Point::kBeforeData);
    if (p.segment != g.own) {
      // Release: pairs with the acquire of the wait there, and of the GEMM's.
      ctx.put(warp.scope, to, to, static_cast<std::size_t>(rows) * g.stride, pe,
              weft::set(flag_of(p), round));
      return;
    }
    const std::size_t before = static_cast<std::size_t>(p.part) * g.stride;
    const std::size_t bytes = g.bytes_of_part(call.row_bytes, p.part);
    const dev::TileShape<2> box{{static_cast<std::int64_t>(bytes), rows},
                                {1, static_cast<std::int64_t>(g.stride)},
                                {1, static_cast<std::int64_t>(call.row_stride)}};
    dev::put_tile_nbi(ctx, warp.scope, to, call.rows + first * call.row_stride + before, box, pe);
    ctx.fence(warp.scope);  // the flag after all of the rows
    if (warp.scope.rank() == 0) ctx.signal(weft::set(flag_of(p), round), pe);
  }
};

struct CopyGathered {
  static constexpr unsigned kMostThreads = kCopyThreads;
  CopyCall call;

  WEFT_DEVICE void operator()() const {
    const AllGatherBuffer& g = call.gather_buffer;
    if (*g.failed_round() != 0) return;  // set by a push before this on the stream
    const std::uint64_t round = g.push_rounds[0];
    const auto rows = static_cast<std::size_t>(g.rows);
    const std::size_t all = rows * static_cast<std::size_t>(g.count);
    for (std::size_t i = dev::block_rank(); i < all; i += dev::grid_size()) {
      const int segment = static_cast<int>(i / rows), row = static_cast<int>(i % rows);
      std::byte* const to = call.to + i * call.row_bytes;
      if (segment == g.own) {
        dev::copy(dev::Block{}, to, call.own + row * call.own_stride, call.row_bytes);
        continue;
      }
      for (int part = 0; part < g.parts; ++part) {
        dev::copy(dev::Block{}, to + static_cast<std::size_t>(part) * g.stride,
                  g.row_of(round, segment, part, row), g.bytes_of_part(call.row_bytes, part));
      }
    }
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
