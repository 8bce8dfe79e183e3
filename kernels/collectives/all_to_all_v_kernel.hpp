// AllToAllV: counts that only the GPUs know. In a first round every block puts a header to each
// twin: the bytes that are to come, and how many rounds it needs for all it sends. The largest of
// these, which all find alike, is how many rounds follow; who has nothing left for somebody only
// signals.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/bulk_kernels.hpp"

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
  // Pieces of my block in so many bytes.
  WEFT_DEVICE std::uint64_t rounds_of(std::size_t bytes) const {
    const std::size_t pieces = (bytes + piece - 1) / piece;
    const std::size_t block = dev::block_rank(), blocks = dev::grid_size();
    return pieces > block ? (pieces - block - 1) / blocks + 1 : 0;
  }
  WEFT_DEVICE std::size_t at(std::uint64_t round) const {
    return (round * dev::grid_size() + dev::block_rank()) * piece;
  }
  WEFT_DEVICE static std::size_t bytes_at(std::size_t at, std::size_t bytes, std::size_t step) {
    return at < bytes ? smaller(step, bytes - at) : 0;
  }
  WEFT_DEVICE Header* my_headers() const {
    return reinterpret_cast<Header*>(space.headers) +
           static_cast<std::size_t>(dev::block_rank()) * static_cast<std::size_t>(team.size);
  }
  WEFT_DEVICE std::byte* place(int rank) const {
    return m.out + sizes.recv_offsets[rank] * element;
  }

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    BulkChannel channel(ctx, team, space);
    bool ok = channel.is_open();
    std::uint64_t rounds = 0;
    if (ok) ok = exchange_headers(channel, &rounds);
    copy_own();
    for (std::uint64_t round = 0; ok && round < rounds; ++round) {
      ok = exchange_pieces(channel, round);
      channel.leave();
    }
    channel.close(ok);
  }

 private:
  // All threads of the block call all of these.
  WEFT_DEVICE bool exchange_headers(BulkChannel& channel, std::uint64_t* rounds) const {
    std::uint64_t most = 0;
    for (int rank = 0; rank < team.size; ++rank) {
      const std::uint64_t mine = rank == team.rank ? 0 : rounds_of(sent(rank));
      if (mine > most) most = mine;
    }
    Header* const headers = my_headers();
    for (int rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size()))
      headers[rank] = {sent(rank), most};
    dev::Block{}.sync();
    channel.enter();
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      channel.put(rank, reinterpret_cast<const std::byte*>(headers + rank), sizeof(Header));
    }
    if (!channel.wait_for_all()) return false;
    for (int rank = 0; rank < team.size; ++rank) {
      if (rank == team.rank) continue;
      const std::uint64_t theirs = reinterpret_cast<const Header*>(channel.slot(rank))->rounds;
      if (theirs > most) most = theirs;
    }
    // My headers have gone: from here on they hold what comes.
    for (int rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size()))
      headers[rank].bytes = rank == team.rank
                                ? sent(rank)
                                : reinterpret_cast<const Header*>(channel.slot(rank))->bytes;
    channel.leave();
    if (dev::block_rank() == 0)
      for (int rank = static_cast<int>(dev::thread_rank()); rank < team.size;
           rank += static_cast<int>(dev::block_size()))
        sizes.recv_counts[rank] = headers[rank].bytes / element;
    *rounds = most;
    return true;
  }

  WEFT_DEVICE void copy_own() const {
    const std::byte* const from = m.in + sizes.send_offsets[team.rank] * element;
    const std::size_t bytes = sent(team.rank);
    for (std::uint64_t round = 0; at(round) < bytes; ++round)
      dev::copy(dev::Block{}, place(team.rank) + at(round), from + at(round),
                bytes_at(at(round), bytes, piece));
  }

  WEFT_DEVICE bool exchange_pieces(BulkChannel& channel, std::uint64_t round) const {
    const std::size_t begin = at(round);
    channel.enter();
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      const std::size_t bytes = bytes_at(begin, sent(rank), piece);
      const std::size_t from = sizes.send_offsets[rank] * element + (bytes != 0 ? begin : 0);
      channel.put(rank, m.in + from, bytes);
    }
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (!channel.wait(rank)) return false;
      const std::size_t bytes = bytes_at(begin, my_headers()[rank].bytes, piece);
      if (bytes != 0) dev::copy(dev::Block{}, place(rank) + begin, channel.slot(rank), bytes);
    }
    return true;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
