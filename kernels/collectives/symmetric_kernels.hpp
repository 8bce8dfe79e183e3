// Collectives of buffers that are symmetric memory: straight into the others' outputs, or out of
// their inputs, without staging and a copy from there.
//
// A block has a contiguous share of every message. It tells its twins that its member is there, so
// that they may touch the buffers, and hears the same of them; moves; and tells and hears that all
// of it has been done. Both are rounds of the channel in bulk.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/core/bulk_channel.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct SymmetricCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  static std::size_t shared_bytes(int team_size) {
    return static_cast<std::size_t>(team_size) * sizeof(Places);
  }

 protected:
  // Where a member's buffers are, as far as the others touch them.
  enum class Touches { kOut, kIn, kBoth };
  struct Places {
    std::byte* out;
    const std::byte* in;
  };

  // body(channel, places) between the two rounds, of a block that has a share; false: gave up.
  template <class Body>
  WEFT_DEVICE void run(const char* where, const Span& span, Touches what, Body body) const {
    if (span.bytes == 0) return;
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, where);
    // Before the loops: to find places costs more than a load there.
    auto* const places = dev::shared<Places>();
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size())) {
      const int pe = team.pe_of(rank);
      places[rank] = {what == Touches::kIn ? nullptr : ctx.ptr(m.out, pe),
                      what == Touches::kOut ? nullptr : ctx.ptr(m.in, pe)};
    }
    channel.close(channel.is_open() && channel.meet() && body(channel, places) && channel.meet());
  }
};

// AllGather and AllToAll.
struct MoveSymmetric : SymmetricCall {
  WEFT_DEVICE void operator()() const {
    const Span span = span_of(m.bytes);
    const auto move = [&](const BulkChannel& channel, const Places* places) {
      const std::size_t to = static_cast<std::size_t>(team.rank) * m.out_stride;
      const bool keeps = in(team.rank) != out(team.rank);
      for (std::size_t at = 0; at < span.bytes; at += kTurnBytes) {
        const std::size_t begin = span.begin + at, bytes = smaller(kTurnBytes, span.bytes - at);
        for (int i = 1; i < team.size; ++i) {
          const int rank = channel.other(i);
          dev::copy(dev::Block{}, places[rank].out + to + begin, in(rank) + begin, bytes);
        }
        if (keeps) dev::copy(dev::Block{}, m.out + to + begin, in(team.rank) + begin, bytes);
      }
      return true;
    };
    run(m.in_stride == 0 ? "AllGather" : "AllToAll", span, Touches::kOut, move);
  }
};

// A part of the root's message to each of the others, piece by piece, who passes it on: so the root
// sends each byte once. Only it signals a piece.
struct BroadcastSymmetric : SymmetricCall {
  std::size_t piece;  // bytes, a multiple of 16
  int root;
  WEFT_DEVICE void operator()() const {
    const std::size_t part = rounded_up(shares(m.bytes, parts()), sizeof(Vector));
    const Span span = span_of(part);
    run("Broadcast", span, Touches::kOut, [&](BulkChannel& channel, const Places* places) {
      for (std::size_t at = 0; at < span.bytes; at += piece) {
        const std::uint64_t round = channel.enter();
        if (team.rank != root && !channel.wait(round, root)) return false;
        pass_on(channel, places, part, {span.begin + at, smaller(piece, span.bytes - at)});
        if (team.rank == root) channel.signal_to_mapped(round);
      }
      return true;
    });
  }

 private:
  // A piece of each part, from the root; and of mine from me.
  WEFT_DEVICE void pass_on(const BulkChannel& channel, const Places* places, std::size_t part,
                           const Span& piece) const {
    const bool is_root = team.rank == root;
    const auto copy = [&](std::byte* out, const std::byte* in, std::size_t whose) {
      const std::size_t begin = smaller(whose * part + piece.begin, m.bytes);
      dev::copy(dev::Block{}, out + begin, in + begin, smaller(piece.bytes, m.bytes - begin));
    };
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      if (is_root)
        copy(places[rank].out, m.in, part_of(rank, root));
      else if (rank != root)
        copy(places[rank].out, m.out, part_of(team.rank, root));
    }
    if (!is_root || m.in == m.out) return;
    for (std::size_t whose = 0; whose < parts(); ++whose) copy(m.out, m.in, whose);
  }
};

// Each folds its part out of all inputs.
template <class T>
struct ReduceScatterSymmetric : SymmetricCall {
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const Span span = span_of(m.bytes);
    run("ReduceScatter", span, Touches::kIn, [&](const BulkChannel&, const Places* places) {
      const std::size_t from = static_cast<std::size_t>(team.rank) * m.in_stride + span.begin;
      const auto source = [&](int rank) { return places[rank].in + from; };
      fold_block<T>(op, m.out + span.begin, team.size, source, span.bytes);
      return true;
    });
  }
};

// The same of a part of the message for each, which goes into all outputs.
template <class T>
struct AllReduceSymmetric : SymmetricCall {
  ReduceOp op;
  WEFT_DEVICE void operator()() const {
    const std::size_t part =
        rounded_up(shares(m.bytes, static_cast<std::size_t>(team.size)), sizeof(Vector));
    const Span span = span_of(part);
    run("AllReduce", span, Touches::kBoth, [&](const BulkChannel&, const Places* places) {
      const std::size_t begin =
          smaller(static_cast<std::size_t>(team.rank) * part + span.begin, m.bytes);
      const auto source = [&](int rank) { return places[rank].in + begin; };
      fold_block_to<T>(op, ToAll{places, begin, team.rank, team.size}, team.size, source,
                       smaller(span.bytes, m.bytes - begin));
      return true;
    });
  }

 private:
  struct ToAll {
    const Places* places;
    std::size_t begin;
    int rank, size;

    // From mine on: at any time all store to different ones.
    template <class Store>
    WEFT_DEVICE void each(Store store) const {
      for (int i = rank; i < size; ++i) store(places[i].out + begin);
      for (int i = 0; i < rank; ++i) store(places[i].out + begin);
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

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
