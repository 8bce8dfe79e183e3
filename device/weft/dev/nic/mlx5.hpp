// ConnectX (mlx5): its send requests, doorbells and completions, as a kernel writes and reads them.
//
// A request here is always one basic block of 64 bytes, of which the NIC reads as many units of 16
// as the control segment says; the other segments follow it. All numbers are big-endian. The NIC
// counts blocks in 16 bits.
//
// How the host must make the queue pair: reliable (RC); no small results scattered to completions;
// registered memory keeps the order of writes; the peer's access includes atomics. And a completion
// queue of its own, collapsed to one entry that every completion overwrites, its overrun ignored,
// and its entry invalid at first: the queue pair asks how many requests are complete, which the
// newest completion alone says, and no reader has to keep up with an index. So the entry's owner
// bit says nothing. The price is that after an error the NIC flushes all later requests, and their
// entries may overwrite the one that says why: then the syndrome is kFlushed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/nic/contract.hpp>
#include <weft/dev/nic/queue.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace nic {
namespace mlx5 {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian means swapped");

// From or to the NIC's order.
WEFT_DEVICE constexpr std::uint32_t swapped(std::uint32_t v) {
  return v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24;
}
WEFT_DEVICE constexpr std::uint64_t swapped(std::uint64_t v) {
  return std::uint64_t{swapped(static_cast<std::uint32_t>(v))} << 32 |
         swapped(static_cast<std::uint32_t>(v >> 32));
}

enum class Opcode : std::uint8_t {
  kWrite = 0x08,
  kRead = 0x10,
  kCompareSwap = 0x11,
  kFetchAdd = 0x12,
};

inline constexpr std::uint64_t kBlockBytes = 64;
inline constexpr std::uint32_t kUnitBytes = 16;
inline constexpr std::uint8_t kCompletes = 0x08;      // flag: writes a completion
inline constexpr std::uint8_t kFences = 0x80;         // flag: waits for earlier reads and atomics
inline constexpr std::uint32_t kInline = 0x80000000;  // in place of a key and an address
inline constexpr std::uint32_t kIndexMask = 0xffff;
inline constexpr std::uint32_t kAtomicBytes = 8;

struct alignas(kUnitBytes) Control {
  std::uint32_t index_and_opcode;  // 8 bits opcode modifier, 16 index, 8 opcode
  std::uint32_t number_and_units;  // 24 bits queue pair, 8 units
  std::uint8_t signature_and_stream[3];
  std::uint8_t flags;
  std::uint32_t immediate;
};
struct alignas(kUnitBytes) Remote {
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t reserved;
};
struct alignas(kUnitBytes) Local {
  std::uint32_t bytes;
  std::uint32_t key;
  std::uint64_t address;
};
struct alignas(kUnitBytes) Atomic {
  std::uint64_t value;  // to add, or to store
  std::uint64_t compare;
};
struct alignas(kUnitBytes) Inline {
  std::uint32_t bytes;
  std::uint8_t data[28];
};
static_assert(sizeof(Control) == kUnitBytes && sizeof(Remote) == kUnitBytes &&
              sizeof(Local) == kUnitBytes && sizeof(Atomic) == kUnitBytes &&
              sizeof(Inline) == 2 * kUnitBytes);

// Where in a block.
inline constexpr std::uint32_t kRemoteUnit = 1, kOperandUnit = 2, kResultUnit = 3;

// A completion is 64 bytes. Its last word is whole when it is there: 32 bits queue pair, 16 index,
// 8 signature, 4 opcode, 3 format, 1 owner. The last byte of the word before is the syndrome.
inline constexpr std::size_t kSyndromeWord = 6, kLastWord = 7;
inline constexpr std::uint32_t kCompletionIndexShift = 16, kCompletionOpcodeShift = 4;
inline constexpr std::uint32_t kRequestFailed = 13, kNoCompletion = 15;  // its opcodes
inline constexpr std::uint32_t kFlushed = 0x05;  // syndrome: an earlier request had failed

}  // namespace mlx5

struct Mlx5 {
  static constexpr std::uint64_t kSlotBytes = mlx5::kBlockBytes;
  static constexpr std::uint64_t kMostSlots = (mlx5::kIndexMask + 1) / 2;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // of a message
  static constexpr std::uint64_t kMostInlineBytes = sizeof(mlx5::Inline::data);

  WEFT_DEVICE static void write_put(const QueueView& queue, std::uint64_t index,
                                    std::uint64_t remote, std::uint64_t local,
                                    std::uint64_t bytes) {
    write_move(queue, index, mlx5::Opcode::kWrite, remote, local, bytes);
  }

  WEFT_DEVICE static void write_inline(const QueueView& queue, std::uint64_t index,
                                       std::uint64_t remote, const void* from,
                                       std::uint64_t bytes) {
    const auto carried = static_cast<std::uint32_t>(bytes);
    const std::uint32_t head = sizeof(mlx5::Inline::bytes);
    const std::uint32_t units = (head + carried + mlx5::kUnitBytes - 1) / mlx5::kUnitBytes;
    write_head(queue, index, mlx5::Opcode::kWrite, mlx5::kOperandUnit + units, remote);
    auto& segment = at<mlx5::Inline>(queue, index, mlx5::kOperandUnit);
    segment.bytes = mlx5::swapped(carried | mlx5::kInline);
    for (std::uint32_t i = 0; i < carried; ++i)
      segment.data[i] = static_cast<const std::uint8_t*>(from)[i];
  }

  WEFT_DEVICE static void write_get(const QueueView& queue, std::uint64_t index,
                                    std::uint64_t remote, std::uint64_t local,
                                    std::uint64_t bytes) {
    write_move(queue, index, mlx5::Opcode::kRead, remote, local, bytes);
  }

  WEFT_DEVICE static void write_fetch_add(const QueueView& queue, std::uint64_t index,
                                          std::uint64_t remote, std::uint64_t result,
                                          std::uint64_t value) {
    write_atomic(queue, index, mlx5::Opcode::kFetchAdd, remote, result, 0, value);
  }

  WEFT_DEVICE static void write_compare_swap(const QueueView& queue, std::uint64_t index,
                                             std::uint64_t remote, std::uint64_t result,
                                             std::uint64_t compare, std::uint64_t value) {
    write_atomic(queue, index, mlx5::Opcode::kCompareSwap, remote, result, compare, value);
  }

  // A write of no bytes: of a request that does nothing at all it is not said that it fences.
  WEFT_DEVICE static void write_fence(const QueueView& queue, std::uint64_t index) {
    write_head(queue, index, mlx5::Opcode::kWrite, mlx5::kOperandUnit, queue.remote_base,
               mlx5::kCompletes | mlx5::kFences);
  }

  WEFT_DEVICE static std::uint32_t record_value(std::uint64_t count) {
    return mlx5::swapped(static_cast<std::uint32_t>(count) & mlx5::kIndexMask);
  }

  // The first 8 bytes of the last request.
  WEFT_DEVICE static std::uint64_t doorbell_value(const QueueView& queue, std::uint64_t count) {
    const auto& last = at<mlx5::Control>(queue, count - 1, 0);
    return std::uint64_t{last.number_and_units} << 32 | last.index_and_opcode;
  }

  WEFT_DEVICE static Completion read_completion(const QueueView& queue, std::uint64_t known) {
    // Acquire: pairs with the NIC, which writes this word last.
    const std::uint64_t last = mlx5::swapped(
        platform::load<Order::kAcquire, Reach::kSystem>(queue.completion + mlx5::kLastWord));
    const auto opcode = static_cast<std::uint32_t>(last >> mlx5::kCompletionOpcodeShift) & 0xf;
    const std::uint64_t index = last >> mlx5::kCompletionIndexShift & mlx5::kIndexMask;
    if (opcode == mlx5::kNoCompletion) return {known, false, 0};
    if (opcode != mlx5::kRequestFailed) return {widened(known, index + 1), false, 0};
    // Relaxed: the entry of a flushed request may be on its way over this one.
    const std::uint64_t before_last = mlx5::swapped(
        platform::load<Order::kRelaxed, Reach::kSystem>(queue.completion + mlx5::kSyndromeWord));
    const auto syndrome = static_cast<std::uint32_t>(before_last & 0xff);
    // All before one that failed by itself are complete; before a flushed one some are not.
    return {syndrome == mlx5::kFlushed ? known : widened(known, index), true, syndrome};
  }

 private:
  template <class Segment>
  WEFT_DEVICE static Segment& at(const QueueView& queue, std::uint64_t index, std::uint32_t unit) {
    std::byte* const slot = queue.slots + (index & (queue.capacity - 1)) * kSlotBytes;
    return *reinterpret_cast<Segment*>(slot + unit * mlx5::kUnitBytes);
  }

  WEFT_DEVICE static void write_head(const QueueView& queue, std::uint64_t index,
                                     mlx5::Opcode opcode, std::uint32_t units, std::uint64_t remote,
                                     std::uint8_t flags = mlx5::kCompletes) {
    const std::uint32_t cut = static_cast<std::uint32_t>(index) & mlx5::kIndexMask;
    at<mlx5::Control>(queue, index, 0) = {
        mlx5::swapped(cut << 8 | static_cast<std::uint32_t>(opcode)),
        mlx5::swapped(queue.number << 8 | units),
        {},
        flags,
        0};
    at<mlx5::Remote>(queue, index, mlx5::kRemoteUnit) = {mlx5::swapped(remote),
                                                         mlx5::swapped(queue.remote_key), 0};
  }

  WEFT_DEVICE static void write_local(const QueueView& queue, std::uint64_t index,
                                      std::uint32_t unit, std::uint64_t local,
                                      std::uint64_t bytes) {
    at<mlx5::Local>(queue, index, unit) = {mlx5::swapped(static_cast<std::uint32_t>(bytes)),
                                           mlx5::swapped(queue.local_key), mlx5::swapped(local)};
  }

  WEFT_DEVICE static void write_move(const QueueView& queue, std::uint64_t index,
                                     mlx5::Opcode opcode, std::uint64_t remote, std::uint64_t local,
                                     std::uint64_t bytes) {
    write_head(queue, index, opcode, mlx5::kOperandUnit + 1, remote);
    write_local(queue, index, mlx5::kOperandUnit, local, bytes);
  }

  WEFT_DEVICE static void write_atomic(const QueueView& queue, std::uint64_t index,
                                       mlx5::Opcode opcode, std::uint64_t remote,
                                       std::uint64_t result, std::uint64_t compare,
                                       std::uint64_t value) {
    write_head(queue, index, opcode, mlx5::kResultUnit + 1, remote);
    at<mlx5::Atomic>(queue, index, mlx5::kOperandUnit) = {mlx5::swapped(value),
                                                          mlx5::swapped(compare)};
    write_local(queue, index, mlx5::kResultUnit, result, mlx5::kAtomicBytes);
  }

  // The count of which the NIC knows the low bits, not before `known`.
  WEFT_DEVICE static std::uint64_t widened(std::uint64_t known, std::uint64_t count) {
    return known + ((count - known) & mlx5::kIndexMask);
  }
};

}  // namespace nic
}  // namespace WEFT_TARGET
}  // namespace weft::dev
