// Algorithm: how a collective is carried out, by its name. Which ones a collective has, its
// registry says (kernels/collectives/COLLECTIVE/algorithms.hpp), so an algorithm that is added
// there needs no entry here: Algorithm("its-name") is it in options, as its name is in tables.
#pragma once

#include <cstddef>

namespace weft::kernels {

class Algorithm {
 public:
  static constexpr std::size_t kMostName = 31;  // characters

  constexpr Algorithm() : Algorithm("auto") {}
  template <std::size_t kBytes>
  constexpr explicit Algorithm(const char (&name)[kBytes]) {
    static_assert(kBytes <= kMostName + 1, "an algorithm's name has up to 31 characters");
    for (std::size_t i = 0; i < kBytes; ++i) name_[i] = name[i];
  }

  constexpr const char* name() const { return name_; }
  friend constexpr bool operator==(const Algorithm& a, const Algorithm& b) {
    std::size_t i = 0;  // names differ soon, and every call of an operator compares some
    while (a.name_[i] == b.name_[i] && a.name_[i] != '\0') ++i;
    return a.name_[i] == b.name_[i];
  }
  friend constexpr bool operator!=(const Algorithm& a, const Algorithm& b) { return !(a == b); }

  // Those that the library has.
  static const Algorithm kAuto,  // what the table says
                                 // Each message straight to whoever needs it (weft/device/ll.hpp).
                                 // An AllReduce: everything to everybody (one-shot). An AllToAllV:
                                 // one round, behind which goes by Simple what it did not hold.
      kLL,
      // AllReduce and AllReduceNorm: a share to each member, who folds it and sends it to all.
      kTwoShotLL,
      // Puts with signals; these two in two steps, too. For members that do not map each other all
      // goes so.
      kSimple,
      // Broadcast only: a share to each member, who puts it to all. The root sends each byte once.
      // With two members the same as kSimple.
      kScatteredSimple,
      // As kLL, half the bytes (weft/device/lamport.hpp). Not for sums of anything but floats, nor
      // an AllToAllV. A Broadcast to three and more: a share to each member, who sends it on.
      kLamport,
      // AllReduce of floats, and AllReduceNorm: as kTwoShotLL, half the bytes.
      kTwoShotLamport,
      // All but AllReduceNorm, where buffers are symmetric memory and all map all: straight into
      // the others' outputs, or out of their inputs.
      kZeroCopy;

 private:
  char name_[kMostName + 1] = {};
};

inline constexpr Algorithm Algorithm::kAuto{"auto"};
inline constexpr Algorithm Algorithm::kLL{"ll"};
inline constexpr Algorithm Algorithm::kTwoShotLL{"two-shot-ll"};
inline constexpr Algorithm Algorithm::kSimple{"simple"};
inline constexpr Algorithm Algorithm::kScatteredSimple{"scattered-simple"};
inline constexpr Algorithm Algorithm::kLamport{"lamport"};
inline constexpr Algorithm Algorithm::kTwoShotLamport{"two-shot-lamport"};
inline constexpr Algorithm Algorithm::kZeroCopy{"zero-copy"};

inline const char* to_string(const Algorithm& algorithm) { return algorithm.name(); }

}  // namespace weft::kernels
