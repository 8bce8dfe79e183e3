// AllToAllV: counts that only the GPUs know. Blocks cut each message into pieces, of which block b
// has the b-th, (b + grid_size)-th and so on, one in each round.
//
// In bulk a round goes before, in which every block puts a header to each twin: the bytes that are
// to come, and how many rounds it needs for all it sends. The largest of these, which all find
// alike, is how many rounds follow; who has nothing left for somebody only signals.
//
// In packets the first round brings header and piece at once, for one latency. The header says
// whether its sender has a second piece for anybody. Where none of the twins has, which again all
// find alike, that was all; else what is left follows in bulk.
//
// Where `out` is symmetric memory a round goes before as well, whose header says where what comes
// is to lie; then each block moves its share of every message straight there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/bulk_kernels.hpp"
#include "kernels/core/packet_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct AllToAllVBulk : BulkCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  AllToAllVSizes sizes;
  std::size_t element;

  // Of a header, as it lies in memory.
  struct Header {
    std::uint64_t bytes, rounds;
  };

  WEFT_DEVICE std::size_t sent(int rank) const { return sizes.send_counts[rank] * element; }
  WEFT_DEVICE const std::byte* source(int rank) const {
    return m.in + sizes.send_offsets[rank] * element;
  }
  WEFT_DEVICE std::byte* place(int rank) const {
    return m.out + sizes.recv_offsets[rank] * element;
  }
  // Pieces of my block in so many bytes.
  WEFT_DEVICE std::uint64_t rounds_of(std::size_t bytes) const {
    const std::size_t pieces = (bytes + piece - 1) / piece;
    const std::size_t block = dev::block_rank(), blocks = dev::grid_size();
    return pieces > block ? (pieces - block - 1) / blocks + 1 : 0;
  }
  // Where the piece of a round begins, and what a message of `bytes` has there.
  WEFT_DEVICE std::size_t at(std::uint64_t round) const { return begin_of(round, piece); }
  WEFT_DEVICE std::size_t bytes_at(std::size_t at, std::size_t bytes) const {
    return BulkCall::bytes_at(at, piece, bytes);
  }

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "AllToAllV");
    std::uint64_t rounds = 0;
    channel.close(channel.is_open() && exchange_headers(channel, &rounds) &&
                  exchange_pieces(channel, 0, rounds));
  }

 protected:
  WEFT_DEVICE Header* my_headers() const {
    return reinterpret_cast<Header*>(space.headers) +
           static_cast<std::size_t>(dev::block_rank()) * static_cast<std::size_t>(team.size);
  }
  // All threads of the block call all of these.
  WEFT_DEVICE bool exchange_headers(BulkChannel& channel, std::uint64_t* rounds) const {
    std::uint64_t most = 0;
    for (int rank = 0; rank < team.size; ++rank) {
      const std::uint64_t mine = rank == team.rank ? 0 : rounds_of(sent(rank));
      if (mine > most) most = mine;
    }
    Header* const headers = my_headers();
    ranks_of_mine([&](int rank) { headers[rank] = {sent(rank), most}; });
    dev::Block{}.sync();
    const std::uint64_t round = channel.enter();
    channel.put_to_all(round, [&](int rank) -> BulkChannel::Bytes {
      return {reinterpret_cast<const std::byte*>(headers + rank), sizeof(Header)};
    });
    if (!channel.wait_for_all(round)) return false;
    const auto theirs_of = [&](int rank) {
      return reinterpret_cast<const Header*>(channel.slot(round, rank));
    };
    for (int rank = 0; rank < team.size; ++rank) {
      if (rank == team.rank) continue;
      const std::uint64_t theirs = theirs_of(rank)->rounds;
      if (theirs > most) most = theirs;
    }
    // My headers have gone: from here on they hold what comes.
    ranks_of_mine([&](int rank) {
      headers[rank].bytes = rank == team.rank ? sent(rank) : theirs_of(rank)->bytes;
      tell(rank, headers[rank].bytes);
    });
    channel.leave();
    *rounds = most;
    return true;
  }
  // The pieces from `first` on, of `count`; of mine for myself all there are.
  WEFT_DEVICE bool exchange_pieces(BulkChannel& channel, std::uint64_t first,
                                   std::uint64_t count) const {
    const bool ok = one_ahead(
        channel, first, [&](std::uint64_t i) { return i < count; },
        [&](std::uint64_t round, std::size_t begin) {
          put_piece(channel, round, begin);
          copy_own(begin);  // while the links are busy
        },
        [&](std::uint64_t round, std::size_t begin) { return take_piece(channel, round, begin); });
    copy_own_from(count > first ? count : first);
    return ok;
  }
  WEFT_DEVICE void copy_own(std::size_t begin) const {
    const std::size_t bytes = bytes_at(begin, sent(team.rank));
    if (bytes != 0)
      dev::copy(dev::Block{}, place(team.rank) + begin, source(team.rank) + begin, bytes);
  }
  WEFT_DEVICE void copy_own_from(std::uint64_t i) const {
    for (; at(i) < sent(team.rank); ++i) copy_own(at(i));
  }
  // body(rank) for each rank that is this thread's.
  template <class Body>
  WEFT_DEVICE void ranks_of_mine(Body body) const {
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size()))
      body(rank);
  }
  // The caller how much came; of the first block the thread whose rank it is.
  WEFT_DEVICE void tell(int rank, std::size_t bytes) const {
    if (dev::block_rank() == 0 &&
        dev::thread_rank() == static_cast<unsigned>(rank) % dev::block_size())
      sizes.recv_counts[rank] = bytes / element;
  }

 private:
  WEFT_DEVICE void put_piece(const BulkChannel& channel, std::uint64_t round,
                             std::size_t begin) const {
    channel.put_to_all(round, [&](int rank) -> BulkChannel::Bytes {
      const std::size_t bytes = bytes_at(begin, sent(rank));
      return {source(rank) + (bytes != 0 ? begin : 0), bytes};
    });
  }
  WEFT_DEVICE bool take_piece(const BulkChannel& channel, std::uint64_t round,
                              std::size_t begin) const {
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(round, rank)) return false;
      const std::size_t bytes = bytes_at(begin, my_headers()[rank].bytes);
      if (bytes != 0)
        dev::copy(dev::Block{}, place(rank) + begin, channel.slot(round, rank), bytes);
    }
    return true;
  }
};

struct AllToAllVSymmetric : AllToAllVBulk {
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space, "AllToAllV");
    channel.close(channel.is_open() && move(ctx, channel));
  }

 private:
  // What each tells those that send to it.
  struct Place {
    std::uint64_t offset, bytes;  // of `out`, for what you have for me; that I have for you
  };
  static_assert(sizeof(Place) == sizeof(Header), "it goes as the header does");

  WEFT_DEVICE bool move(const dev::Context& ctx, BulkChannel& channel) const {
    auto* const places = reinterpret_cast<Place*>(my_headers());
    ranks_of_mine([&](int rank) {
      places[rank] = {sizes.recv_offsets[rank] * element, sent(rank)};
    });
    dev::Block{}.sync();
    const std::uint64_t first = channel.enter();
    channel.put_to_all(first, [&](int rank) -> BulkChannel::Bytes {
      return {reinterpret_cast<const std::byte*>(places + rank), sizeof(Place)};
    });
    move_to(team.rank, m.out + sizes.recv_offsets[team.rank] * element);
    if (!channel.wait_for_all(first)) return false;
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      const auto* const there = reinterpret_cast<const Place*>(channel.slot(first, rank));
      move_to(rank, ctx.ptr(m.out, team.pe_of(rank)) + there->offset);
    }
    ranks_of_mine([&](int rank) {
      const auto* const there = reinterpret_cast<const Place*>(channel.slot(first, rank));
      tell(rank, rank == team.rank ? sent(rank) : there->bytes);
    });
    const std::uint64_t second = channel.enter();
    channel.signal_to_mapped(second);
    return channel.wait_for_all(second);
  }
  // My block's share of what I have for that rank.
  WEFT_DEVICE void move_to(int rank, std::byte* there) const {
    const Share share = share_of(dev::packed_units(sent(rank)));
    if (share.count == 0) return;
    const std::size_t begin = share.begin * dev::kPacketBytes;
    dev::copy(dev::Block{}, there + begin, source(rank) + begin,
              smaller(share.count * dev::kPacketBytes, sent(rank) - begin));
  }
};

struct AllToAllVPackets : AllToAllVBulk {
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    PacketChannel packets(ctx, team, space, "AllToAllV");
    BulkChannel bulk(ctx, team, space, "AllToAllV");
    bool ok = packets.open(), more = false;
    if (ok) {
      packets.enter();
      ok = packets.leave(exchange_packets(packets, &more));
    }
    packets.close(ok);
    if (!ok) return;
    if (!more) return copy_own_from(1);
    std::uint64_t rounds = 0;
    ok = exchange_headers(bulk, &rounds) && exchange_pieces(bulk, 1, rounds);
    bulk.close(ok);
  }

 private:
  static constexpr int kMembers = 4;  // that a thread hears at once: more want too many registers

  // What threads do by themselves. `more`, all threads of all twins alike: another round follows.
  WEFT_DEVICE bool exchange_packets(const PacketChannel& channel, bool* more) const {
    WEFT_KERNELS_PAUSE(kBeforeData);
    for (int rank = 0; rank < team.size; ++rank)
      *more = *more || (rank != team.rank && sent(rank) > at(1));
    ranks_of_mine([&](int rank) {
      if (rank != team.rank) channel.send(rank, 0, sent(rank) << 1 | (*more ? 1 : 0));
    });
    for (int i = 1; i < team.size; ++i) send_piece(channel, channel.other(i));
    copy_own(at(0));
    tell(team.rank, sent(team.rank));
    for (int first = 0; first < team.size; first += kMembers)
      if (!take_pieces(channel, first, more)) return false;
    return true;
  }
  WEFT_DEVICE void send_piece(const PacketChannel& channel, int rank) const {
    const std::size_t bytes = bytes_at(at(0), sent(rank));
    for (std::size_t u = dev::thread_rank(); u < dev::packed_units(bytes); u += dev::block_size())
      channel.send(rank, kHeaderUnits + u, dev::load_unit(source(rank) + at(0), bytes, u));
  }
  // Those of kMembers ranks. Every thread reads the headers, which are there when it looks for its
  // units or soon will be: who sends them has sent these before.
  WEFT_DEVICE bool take_pieces(const PacketChannel& channel, int first, bool* more) const {
    std::uint64_t headers[kMembers] = {}, data[kMembers];
    const auto sends = [&](int k) { return first + k < team.size && first + k != team.rank; };
    const auto header = [&](int k) -> dev::Awaited {
      if (!sends(k)) return {nullptr, -1};
      return channel.awaited(first + k, 0);
    };
    if (!channel.take_these(header, headers)) return false;
    std::size_t most = 0;
    for (int k = 0; k < kMembers; ++k) {
      const std::size_t units = units_of(headers[k]);
      if (units > most) most = units;
      *more = *more || (headers[k] & 1) != 0;
      if (sends(k)) tell(first + k, headers[k] >> 1);
    }
    for (std::size_t u = dev::thread_rank(); u < most; u += dev::block_size()) {
      unsigned there = 0;  // bit k: the k-th has this unit
      for (int k = 0; k < kMembers; ++k) there |= (u < units_of(headers[k]) ? 1u : 0u) << k;
      const auto unit = [&](int k) -> dev::Awaited {
        if ((there >> k & 1) == 0) return {nullptr, -1};
        return channel.awaited(first + k, kHeaderUnits + u);
      };
      if (!channel.take_these(unit, data)) return false;
      for (int k = 0; k < kMembers; ++k)
        if ((there >> k & 1) != 0)
          dev::store_unit(place(first + k) + at(0), bytes_at(at(0), headers[k] >> 1), u, data[k]);
    }
    return true;
  }
  // Of my block's piece.
  WEFT_DEVICE std::size_t units_of(std::uint64_t header) const {
    return dev::packed_units(bytes_at(at(0), header >> 1));
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
