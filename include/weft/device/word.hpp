// Words: 8 bytes of data that tell by themselves that they have come: until then their place holds
// kNoWord, which is never sent. Half the bytes of packets (weft/device/packet.hpp) for data that
// are never all ones, such as sums of floats. (As in the one-shot AllReduce of TensorRT-LLM, which
// is named after Lamport.)
//
// A word says nothing about other memory. Its place is symmetric memory that begins as kNoWord, and
// is so again once its owner has taken it. Before a word is sent to a place again, its owner must
// be known to have taken the last one: through something that it has sent behind a fence, or in a
// later kernel.
//
// All is inlined whole, so it serves kernels in which nothing may be called (weft/device/flag.hpp).
#pragma once

#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/target.hpp>

namespace weft::dev {

inline constexpr std::uint64_t kNoWord = ~std::uint64_t{0};

// Two of them side by side, which one instruction sends or looks at: each is there when it is not
// kNoWord, whatever the other is.
struct alignas(16) WordPair {
  std::uint64_t first, second;
};

// A word of mine that `pe` sends; `place` null: none.
struct AwaitedWord {
  std::uint64_t* place;
  int pe;
};
struct AwaitedPair {
  WordPair* place;
  int pe;
};

inline namespace WEFT_TARGET {

// By one thread, to a place that it can store to: ctx.ptr(place, pe). `data` is not kNoWord.
WEFT_DEVICE_CALL void send_word(std::uint64_t* place, std::uint64_t data);
WEFT_DEVICE_CALL void send_words(WordPair* place, WordPair data);

// By one thread: data[k] of awaited(k), for each k below kMany: an AwaitedWord of a std::uint64_t,
// an AwaitedPair of a WordPair. All are asked for before the first is looked at. False: the
// deadline passed, which is reported with `where` and the PE; then no place is free again.
template <int kMany, class GetAwaited, class Data>
WEFT_DEVICE_CALL bool take_words(const DeviceContext& handle, const char* where, GetAwaited awaited,
                                 Data (&data)[kMany]);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
