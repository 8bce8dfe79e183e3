// A channel for words of any data (word_channel.hpp). Of those that would be kNoWord, or the word
// below it, that other one is sent, and a word in a place beside says which of the two it was.
//
// Data are turned by a key before, so that what programs have much of, zeros and all ones, is
// neither of the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/core/word_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

class AnyWordChannel : public WordChannel {
 public:
  // What is sent: a pair, and which of its words were kNoWord, if one is of the two.
  struct Carried {
    Pair data;
    std::uint64_t were_none;
    WEFT_DEVICE bool has_beside() const { return is_marked(data); }
  };
  WEFT_DEVICE AnyWordChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                             const char* where)
      : WordChannel(ctx, team, space, where) {}

  static WEFT_DEVICE Carried carried(Pair data) {
    Carried made{{data.first ^ kAnyWordKey, data.second ^ kAnyWordKey}, 0};
    if (made.data.first == dev::kNoWord) made.were_none |= 1;
    if (made.data.second == dev::kNoWord) made.were_none |= 2;
    made.data = WordChannel::carried(made.data);
    return made;
  }
  WEFT_DEVICE void send(int rank, std::size_t pair, const Carried& what) const {
    if (what.has_beside()) dev::send_word(beside(twins_.to(rank), pair), what.were_none);
    WordChannel::send(rank, pair, what.data);
  }
  // As WordChannel has it.
  template <int kOthers, class Own, class Use>
  WEFT_DEVICE bool take(std::size_t pair, Own own, Use use) const {
    bool ok = true;
    const auto use_data = [&](int rank, Pair data) {
      if (rank != team_.rank) ok = ok && restore(rank, pair, &data);
      if (ok) use(rank, data);
    };
    return WordChannel::take<kOthers>(pair, own, use_data) && ok;
  }
  // Pair `pair` of one of the others alone.
  WEFT_DEVICE bool take_from(int rank, std::size_t pair, Pair* data) const {
    WEFT_KERNELS_PAUSE(kBeforeWait);
    return take_one(rank, place(rank, pair), data) && restore(rank, pair, data);
  }

 private:
  static WEFT_DEVICE bool is_marked(Pair data) {
    return (data.first | 1) == dev::kNoWord || (data.second | 1) == dev::kNoWord;
  }
  // What was sent, of what has come.
  WEFT_DEVICE bool restore(int rank, std::size_t pair, Pair* data) const {
    if (is_marked(*data)) {
      std::uint64_t were_none;
      if (!take_one(rank, beside(twins_.from(rank), pair), &were_none)) return false;
      data->first += were_none & 1;
      data->second += were_none >> 1;
    }
    data->first ^= kAnyWordKey;
    data->second ^= kAnyWordKey;
    return true;
  }
  // The word beside a pair: behind all pairs of its slot, which are two thirds of it.
  WEFT_DEVICE std::uint64_t* beside(Pair* slot, std::size_t pair) const {
    return reinterpret_cast<std::uint64_t*>(slot + half(round_) + space_.word_slot / 3) + pair;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
