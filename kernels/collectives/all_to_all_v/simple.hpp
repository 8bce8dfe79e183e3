// AllToAllV: counts that only the GPUs know. Blocks cut each message into pieces, of which block b
// has the b-th, (b + grid_size)-th and so on, one in each round.
//
// By Simple the first round's piece brings a header: how many elements are to come, and the bytes
// of the largest message that its sender has for anybody. The largest of these, which all find
// alike, says how many rounds follow; who has nothing left for somebody only signals.
//
// Where `out` is symmetric memory a round of headers goes before, which say where what comes is to
// lie; then each block moves its share of every message straight there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_to_all_v/call.hpp"
#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/protocol/ll_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct AllToAllVSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  AllToAllVSizes sizes;
  std::size_t element;

  // A member as a block's threads know it, in shared memory: each field is a load from far away.
  struct Member {
    const std::byte* source;
    std::byte* destination;
    std::size_t sent, received;  // elements
    std::size_t header_bytes;    // SimpleHeader::bytes
  };
  static WEFT_HOST_DEVICE std::size_t shared_bytes(int team_size) {
    return LLChannel::shared_bytes(team_size) +
           static_cast<std::size_t>(team_size) * sizeof(Member);
  }

  WEFT_DEVICE void operator()() const {
    load_members();
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "AllToAllV");
    dev::Block{}.sync();
    channel.close(channel.is_open() && exchange(channel, 0));
  }

 protected:
  // Behind the shared memory of an LL channel.
  WEFT_DEVICE Member& member(int rank) const {
    return reinterpret_cast<Member*>(dev::shared<std::byte>() +
                                     LLChannel::shared_bytes(team.size))[rank];
  }
  // The member as the caller's arrays have it.
  WEFT_DEVICE Member load_member(int rank) const {
    return {m.in + sizes.send_offsets[rank] * element, m.out + sizes.recv_offsets[rank] * element,
            sizes.send_counts[rank], 0, 0};
  }
  // All threads of the block call it; behind a barrier they know all members.
  WEFT_DEVICE void load_members() const {
    ranks_of_mine([&](int rank) { member(rank) = load_member(rank); });
  }
  WEFT_DEVICE std::size_t sent(int rank) const { return member(rank).sent * element; }
  WEFT_DEVICE std::size_t received(int rank) const { return member(rank).received * element; }
  // Bytes of my largest message to another member.
  WEFT_DEVICE std::size_t most_sent() const {
    std::size_t most = 0;
    for (int rank = 0; rank < team.size; ++rank)
      if (rank != team.rank && sent(rank) > most) most = sent(rank);
    return most;
  }
  // Where the i-th piece begins, and what a message of `bytes` has there.
  WEFT_DEVICE std::size_t at(std::uint64_t i) const { return begin_of(i, piece); }
  WEFT_DEVICE std::size_t bytes_at(std::size_t at, std::size_t bytes) const {
    return SimpleCall::bytes_at(at, piece, bytes);
  }

  // All threads of the block call all of these.
  // The pieces from `first` on; of mine for myself all there are.
  WEFT_DEVICE bool exchange(SimpleChannel& channel, std::uint64_t first) const {
    std::size_t most = most_sent();  // of anybody, once the first round's headers are there
    std::uint64_t own = first;       // the next of mine for myself
    const bool ok = one_ahead(
        channel, first, [&](std::uint64_t i) { return i == first || at(i) < most; },
        [&](std::uint64_t round, std::size_t begin) {
          if (begin == at(first))
            channel.put_headers(round, [&](int rank) -> SimpleHeader {
              return {member(rank).sent, most};
            });
          put_piece(channel, round, begin);
          copy_own(member(team.rank), at(own++));  // while the links are busy
        },
        [&](std::uint64_t round, std::size_t begin) {
          const bool is_first = begin == at(first);
          if (is_first && !take_headers(channel, round)) return false;
          for (int rank = 0; is_first && rank < team.size; ++rank)
            if (member(rank).header_bytes > most) most = member(rank).header_bytes;
          return take_piece(channel, round, begin, !is_first);
        });
    copy_own_from(member(team.rank), own);
    return ok;
  }
  // Copies a piece of what I have for myself.
  WEFT_DEVICE void copy_own(const Member& own, std::size_t begin) const {
    const std::size_t bytes = bytes_at(begin, own.sent * element);
    if (bytes != 0) dev::copy(dev::Block{}, own.destination + begin, own.source + begin, bytes);
  }
  WEFT_DEVICE void copy_own_from(const Member& own, std::uint64_t i) const {
    for (; at(i) < own.sent * element; ++i) copy_own(own, at(i));
  }
  // body(rank) for each rank that is this thread's.
  template <class Body>
  WEFT_DEVICE void ranks_of_mine(Body body) const {
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size()))
      body(rank);
  }
  // Keeps what a header says, by the thread whose rank it is, which stores the count for the
  // caller, too.
  WEFT_DEVICE void note_header(int rank, std::size_t count, std::size_t header_bytes) const {
    member(rank).received = count;
    member(rank).header_bytes = header_bytes;
    store_count(rank, count);
  }
  // The elements that came from that rank, for the caller's recv_counts.
  WEFT_DEVICE void store_count(int rank, std::size_t count) const {
    if (dev::block_rank() == 0) sizes.recv_counts[rank] = count;
  }

  // Waits for all of that round; then all threads know what its headers say.
  WEFT_DEVICE bool take_headers(const SimpleChannel& channel, std::uint64_t round) const {
    if (!channel.wait_for_all(round)) return false;
    ranks_of_mine([&](int rank) {
      if (rank == team.rank) return note_header(rank, member(rank).sent, 0);
      const SimpleHeader header = channel.header(round, rank);
      note_header(rank, header.count, header.bytes);
    });
    dev::Block{}.sync();
    return true;
  }

 private:
  WEFT_DEVICE void put_piece(const SimpleChannel& channel, std::uint64_t round,
                             std::size_t begin) const {
    channel.put_to_all(round, [&](int rank) -> SimpleChannel::Bytes {
      const std::size_t bytes = bytes_at(begin, sent(rank));
      return {member(rank).source + (bytes != 0 ? begin : 0), bytes};
    });
  }
  WEFT_DEVICE bool take_piece(const SimpleChannel& channel, std::uint64_t round, std::size_t begin,
                              bool waits) const {
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.before(i);
      if (waits && !channel.wait(round, rank)) return false;
      const std::size_t bytes = bytes_at(begin, received(rank));
      if (bytes != 0)
        dev::copy(dev::Block{}, member(rank).destination + begin, channel.slot(round, rank), bytes);
    }
    return true;
  }
};

struct AllToAllVZeroCopy : AllToAllVSimple {
  WEFT_DEVICE void operator()() const {
    load_members();
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, "AllToAllV");
    dev::Block{}.sync();
    channel.close(channel.is_open() && move(ctx, channel));
  }

 private:
  WEFT_DEVICE bool move(const dev::Context& ctx, SimpleChannel& channel) const {
    const std::uint64_t first = channel.enter();
    channel.put_headers(first, [&](int rank) -> SimpleHeader {
      return {member(rank).sent, static_cast<std::uint64_t>(member(rank).destination - m.out)};
    });
    channel.signal_to_mapped(first);
    move_to(team.rank, 0, kBytesMeanwhile);
    if (!take_headers(channel, first)) return false;
    ranks_of_mine([&](int rank) {
      if (rank != team.rank)
        member(rank).destination = ctx.ptr(m.out, team.pe_of(rank)) + member(rank).header_bytes;
    });
    dev::Block{}.sync();
    bool has_more = true;
    for (std::size_t at = 0; has_more; at += kInterleaveBytes) {
      has_more = false;
      for (int i = 1; i < team.size; ++i)
        has_more = move_to(channel.other(i), at, kInterleaveBytes) || has_more;
      has_more = move_to(team.rank, at + kBytesMeanwhile, kInterleaveBytes) || has_more;
    }
    return channel.sync();
  }
  // Moves what I have for that rank: of my block's share at most so many bytes from `at` on.
  // Returns whether more is behind them.
  WEFT_DEVICE bool move_to(int rank, std::size_t at, std::size_t most) const {
    const Span span = span_of(sent(rank));
    if (at >= span.bytes) return false;
    const Member& to = member(rank);
    const std::size_t begin = span.begin + at, bytes = min(most, span.bytes - at);
    dev::copy(dev::Block{}, to.destination + begin, to.source + begin, bytes);
    return at + bytes < span.bytes;
  }

  // Bytes of what I keep that are moved while headers come.
  static constexpr std::size_t kBytesMeanwhile = WEFT_TARGET_CPU ? 256 : 8 << 10;
};

template <class Kernel>
Status start_all_to_all_v(const AllToAllVCall& call, Stream stream) {
  const AllToAllVSimple base{simple_call(call), call.sizes, kernels::bytes_of(call.dtype)};
  return start(call, Kernel{base}, stream, AllToAllVSimple::shared_bytes(call.team.size));
}
struct AllToAllVBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple};
  static Status run(const AllToAllVCall& call, Stream stream) {
    return start_all_to_all_v<AllToAllVSimple>(call, stream);
  }
};
struct AllToAllVByZeroCopy {
  static constexpr AlgorithmTraits kTraits{Algorithm::kZeroCopy, Protocol::kZeroCopy};
  static Status run(const AllToAllVCall& call, Stream stream) {
    return start_all_to_all_v<AllToAllVZeroCopy>(call, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
