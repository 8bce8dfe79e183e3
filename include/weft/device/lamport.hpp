// The Lamport protocol: words of 8 bytes of data that tell by themselves that they have come. Until
// then their slot holds kLamportEmpty, which is never sent. It takes half the bytes of LL
// (weft/device/ll.hpp), for data that are never all ones, such as sums of floats. (As in the
// one-shot AllReduce of TensorRT-LLM, which is named after Lamport.)
//
// A word says nothing about other memory. Its slot is symmetric memory that begins as
// kLamportEmpty, and is so again once its owner has taken the word. Before a word is sent to a slot
// again, its owner must be known to have taken the last one: through something that it has sent
// behind a fence, or in a later kernel.
//
// All is inlined whole, so it serves kernels in which nothing may be called (weft/device/flag.hpp).
#pragma once

#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/target.hpp>

namespace weft::dev {

inline constexpr std::uint64_t kLamportEmpty = ~std::uint64_t{0};

// Two words side by side, which one instruction sends or looks at: each is there when it is not
// kLamportEmpty, whatever the other is.
struct alignas(16) LamportPair {
  std::uint64_t first, second;
};

// A word of mine that `pe` sends; `place` null: none.
struct AwaitedLamport {
  std::uint64_t* place;
  int pe;
};
struct AwaitedLamportPair {
  LamportPair* place;
  int pe;
};

inline namespace WEFT_TARGET {

// By one thread, to a slot that it can store to: ctx.ptr(place, pe). `data` is not kLamportEmpty.
WEFT_DEVICE_CALL void send_lamport(std::uint64_t* place, std::uint64_t data);
WEFT_DEVICE_CALL void send_lamport(LamportPair* place, LamportPair data);

// By one thread: data[k] of awaited(k), for each k below kMany: an AwaitedLamport of a
// std::uint64_t, an AwaitedLamportPair of a LamportPair. All are asked for before the first is
// looked at. False: the deadline passed, which is reported with `where` and the PE; then no slot is
// emptied.
template <int kMany, class GetAwaited, class Data>
WEFT_DEVICE_CALL bool receive_lamport(const DeviceContext& handle, const char* where,
                                      GetAwaited awaited, Data (&data)[kMany]);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
