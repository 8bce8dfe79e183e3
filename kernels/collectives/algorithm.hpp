// AlgorithmTraits: the properties of an algorithm by which it is planned. Plain data, beside its
// kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/kernels/plan.hpp>

namespace weft::kernels {

enum class Protocol : std::uint8_t { kLL, kLamport, kSimple, kZeroCopy };

// Into how many parts a message is cut, one for each member that has to do with it.
enum class Parts : std::uint8_t {
  kOne,
  kMembers,
  kOthers,  // all but the root
};

struct AlgorithmTraits {
  Algorithm name;
  Protocol protocol = Protocol::kSimple;
  Parts parts = Parts::kOne;
  // Takes its place: of Lamport where there is no room for its slots, then by LL; of Simple in a
  // team of fewer members than it takes.
  Algorithm fallback = Algorithm::kSimple;
  int least_members = 1;
  // Zero copy: a block's part goes in pieces, so that one is passed on while the next comes.
  bool relays = false;
  // LL: one round has all of a message, or what is left goes by Simple (kHeaderBytes).
  bool in_one_round = false;
};

// The algorithms of a collective, as its registry has them.
struct AlgorithmSpan {
  const AlgorithmTraits* first;
  std::size_t count;
  const AlgorithmTraits* begin() const { return first; }
  const AlgorithmTraits* end() const { return first + count; }
};
namespace cpu {
AlgorithmSpan algorithms_of(Collective what);
}
namespace cuda {
AlgorithmSpan algorithms_of(Collective what);
}
namespace hip {
AlgorithmSpan algorithms_of(Collective what);
}

// Null: the collective has none of that name.
const AlgorithmTraits* find_algorithm(Collective what, const Algorithm& algorithm);
inline bool is_by(Collective what, const Algorithm& algorithm, Protocol protocol) {
  const AlgorithmTraits* const found = find_algorithm(what, algorithm);
  return found != nullptr && found->protocol == protocol;
}

}  // namespace weft::kernels
