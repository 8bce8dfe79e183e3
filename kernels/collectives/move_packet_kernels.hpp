// Collectives in packets that fold nothing: AllGather, AllToAll and Broadcast. What a thread sends
// first is under way from memory while the channel opens: of so short a call each latency shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/core/outgoing.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The units of messages. Here all are whole, each at a multiple of 8 bytes: a kernel of its own,
// since one that asks of each waits for each.
struct WholeUnits {
  static bool are_in(const Messages& m) {
    return ((reinterpret_cast<std::uintptr_t>(m.in) | reinterpret_cast<std::uintptr_t>(m.out) |
             m.in_stride | m.out_stride | m.bytes) %
            dev::kPacketBytes) == 0;
  }
  static WEFT_DEVICE std::uint64_t load(const std::byte* message, std::size_t, std::size_t unit) {
    return reinterpret_cast<const Unit*>(message)[unit].bits;
  }
  static WEFT_DEVICE void store(std::byte* message, std::size_t, std::size_t unit,
                                std::uint64_t data) {
    reinterpret_cast<Unit*>(message)[unit].bits = data;
  }

 private:
  struct __attribute__((may_alias)) Unit {
    std::uint64_t bits;
  };
};
// The same of any message.
struct AnyUnits {
  static WEFT_DEVICE std::uint64_t load(const std::byte* message, std::size_t bytes,
                                        std::size_t unit) {
    return dev::load_unit(message, bytes, unit);
  }
  static WEFT_DEVICE void store(std::byte* message, std::size_t bytes, std::size_t unit,
                                std::uint64_t data) {
    dev::store_unit(message, bytes, unit, data);
  }
};

// AllGather (in_stride 0) and AllToAll. Units of kOthers are under way at once, both ways.
template <class Units, int kOthers>
struct MovePackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const Share share = share_of(dev::packed_units(m.bytes));
    const std::size_t mine = dev::thread_rank(), step = dev::block_size();
    const std::size_t end = share.begin + share.count;
    const auto get = [&](int rank, std::size_t unit) {
      return Units::load(in(rank), m.bytes, unit);
    };
    Outgoing<kOthers, decltype(get)> next(team, m.in_stride == 0, get);
    const auto load_first = [&] {
      if (mine < share.count) next.load(share.begin + mine);
    };
    const auto round = [&](PacketChannel& channel, std::size_t first, std::size_t count) {
      WEFT_KERNELS_PAUSE(kBeforeData);
      for (std::size_t u = mine; u < count; u += step) {
        next.send([&](int rank, std::uint64_t data) { channel.send(rank, u, data); });
        const std::size_t then = first + (u + step < count ? u + step : count + mine);
        if (then < end) next.load(then);
      }
      for (std::size_t u = mine; u < count; u += step) {
        const auto use = [&](int rank, std::uint64_t data) {
          Units::store(out(rank), m.bytes, first + u, data);
        };
        use(team.rank, get(team.rank, first + u));
        if (!channel.take<kOthers>(u, use)) return false;
      }
      return true;
    };
    rounds(m.in_stride == 0 ? "AllGather" : "AllToAll", share, load_first, round);
  }
};

// Only the root has something to send. The others send a packet that is empty, so that everybody
// hears from everybody.
template <class Units, int kOthers>
struct BroadcastPackets : PacketCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  int root;
  WEFT_DEVICE void operator()() const {
    const Share share = share_of(dev::packed_units(m.bytes));
    const std::size_t mine = dev::thread_rank(), step = dev::block_size();
    const bool is_root = team.rank == root;
    const auto get = [&](std::size_t unit) -> std::uint64_t {
      return is_root && unit < share.begin + share.count ? Units::load(m.in, m.bytes, unit) : 0;
    };
    std::uint64_t next = 0;
    const auto load_first = [&] { next = get(share.begin + mine); };
    const auto round = [&](PacketChannel& channel, std::size_t first, std::size_t count) {
      WEFT_KERNELS_PAUSE(kBeforeData);
      for (std::size_t u = mine; u < count; u += step) {
        if (is_root || u == 0) channel.send_to_all(u, next);
        next = get(first + (u + step < count ? u + step : count + mine));
      }
      for (std::size_t u = mine; u < count; u += step) {
        std::uint64_t data = get(first + u);
        if (u == 0) {
          if (!channel.take<kOthers>(u, [&](int rank, std::uint64_t got) {
                if (rank == root) data = got;
              }))
            return false;
        } else if (!is_root && !channel.take_from(root, u, &data)) {
          return false;
        }
        Units::store(m.out, m.bytes, first + u, data);
      }
      return true;
    };
    rounds("Broadcast", share, load_first, round);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
