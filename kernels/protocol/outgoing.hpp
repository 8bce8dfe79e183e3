// The data that a thread is to send next, something to each of the others: all of it is under way
// from memory before the first is sent, and while the channel opens.
#pragma once

#include <cstddef>

#include <weft/team.hpp>

#include "kernels/protocol/channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// get(rank, index): what of that index goes to that rank; `same`: to all of them. kMost are under
// way at once, and those beyond are asked for one by one; with 1 there are none beyond.
template <int kMost, class Get>
class Outgoing {
 public:
  WEFT_DEVICE Outgoing(const Team& team, bool same, Get get)
      : team_(team), same_(same), get_(get) {}
  WEFT_DEVICE void load(std::size_t index) {
    index_ = index;
    if constexpr (kMost > 0) {
      if (kMost > 1 && same_) {
        data_[0] = of(1);
        for (int k = 1; k < kMost; ++k) data_[k] = data_[0];
      } else {
        for (int k = 0; k < kMost; ++k)
          if (k + 1 < team_.size) data_[k] = of(k + 1);
      }
    }
  }
  // send(rank, data)
  template <class Send>
  WEFT_DEVICE void send(Send send) const {
    for (int k = 0; k < kMost; ++k)
      if (k + 1 < team_.size) send(other_of(team_, k + 1), data_[k]);
    if constexpr (kMost == 1) return;
    if (same_) {
      const auto data = kMost > 0 ? data_[0] : of(1);
      for (int i = kMost + 1; i < team_.size; ++i) send(other_of(team_, i), data);
    } else {
      for (int i = kMost + 1; i < team_.size; ++i) send(other_of(team_, i), of(i));
    }
  }

 private:
  // The data for the i-th.
  WEFT_DEVICE auto of(int i) const { return get_(other_of(team_, i), index_); }

  const Team& team_;
  const bool same_;
  const Get get_;
  std::size_t index_ = 0;
  decltype(get_(0, std::size_t{0})) data_[kMost > 0 ? kMost : 1];
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
