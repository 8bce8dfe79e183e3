// Copies by the engine for bulk copies, which sm_90 and later have: from memory to memory through
// shared memory, kept busy by one thread. Instructions: PTX ISA, cp.async.bulk and mbarrier.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

inline constexpr bool kHasBulkCopy = true;

// Not in a block's shared memory, nor a thread's own.
WEFT_DEVICE bool is_in_memory(const void* at) { return __isGlobal(at) != 0; }

namespace bulk {

inline constexpr unsigned kPieces = 8;    // some on their way in, some on their way out
inline constexpr unsigned kHeader = 128;  // of a stage: a barrier for each piece

WEFT_DEVICE void make_barrier(unsigned at) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(at) : "memory");
}
WEFT_DEVICE void end_barrier(unsigned at) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(at) : "memory");
}
// The engine sees what threads have stored, the barriers included.
WEFT_DEVICE void fence() { asm volatile("fence.proxy.async;" : : : "memory"); }

// So many bytes will come for that barrier.
WEFT_DEVICE void expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(barrier), "r"(bytes)
               : "memory");
}
WEFT_DEVICE void bring(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}
// A copy that has begun ends, or the whole kernel does: so there is no deadline here.
WEFT_DEVICE void await(unsigned barrier, unsigned parity) {
  unsigned came;
  do {
    asm volatile(
        "{\n"
        " .reg .pred came;\n"
        " mbarrier.try_wait.parity.shared::cta.b64 came, [%1], %2;\n"
        " selp.u32 %0, 1, 0, came;\n"
        "}"
        : "=r"(came)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (came == 0);
}
WEFT_DEVICE void send(void* to, unsigned from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(from), "r"(bytes)
               : "memory");
}
WEFT_DEVICE void end_piece() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
// All but the last piece that was sent have left their slots.
WEFT_DEVICE void await_slots() { asm volatile("cp.async.bulk.wait_group.read 1;" : : : "memory"); }
// All is where it was sent to, and my thread sees it: what it releases now tells of that, too.
WEFT_DEVICE void await_all() { asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"); }

WEFT_DEVICE unsigned slot_bytes(unsigned stage_bytes) {
  return ((stage_bytes - kHeader) / kPieces) & ~127u;
}

// Pieces 0 .. count - 1, each through a slot: ask(piece, slot, barrier) has it come,
// send(piece, slot) go on.
template <class Ask, class Send>
WEFT_DEVICE void pass_through(std::byte* stage, unsigned stage_bytes, unsigned count, Ask ask,
                              Send send) {
  const unsigned bytes = slot_bytes(stage_bytes);
  const auto barriers = static_cast<unsigned>(__cvta_generic_to_shared(stage));
  const unsigned slots = barriers + kHeader;
  const auto barrier_of = [&](unsigned n) { return barriers + n % kPieces * 8; };
  const auto slot_of = [&](unsigned n) { return slots + n % kPieces * bytes; };
  for (unsigned k = 0; k < kPieces; ++k) make_barrier(barrier_of(k));
  fence();
  unsigned in = 0, out = 0;
  for (; in < kPieces && in < count; ++in) ask(in, slot_of(in), barrier_of(in));
  while (out < count) {
    await(barrier_of(out), out / kPieces % 2);
    send(out, slot_of(out));
    end_piece();
    if (++out < 2 || in >= count) continue;
    await_slots();  // of all pieces but the one that was just sent
    ask(in, slot_of(in), barrier_of(in));
    ++in;
  }
  await_all();
  for (unsigned k = 0; k < kPieces; ++k) end_barrier(barrier_of(k));
}

}  // namespace bulk

inline __device__ __noinline__ void bulk_copy(std::byte* stage, unsigned stage_bytes,
                                              std::byte* dst, const std::byte* src,
                                              std::size_t bytes) {
  const unsigned piece = bulk::slot_bytes(stage_bytes);
  const auto count = static_cast<unsigned>((bytes + piece - 1) / piece);
  const auto at = [&](unsigned n) { return static_cast<std::size_t>(n) * piece; };
  const auto size = [&](unsigned n) {
    return bytes - at(n) < piece ? static_cast<unsigned>(bytes - at(n)) : piece;
  };
  bulk::pass_through(
      stage, stage_bytes, count,
      [&](unsigned n, unsigned slot, unsigned barrier) {
        bulk::expect(barrier, size(n));
        bulk::bring(slot, src + at(n), size(n), barrier);
      },
      [&](unsigned n, unsigned slot) { bulk::send(dst + at(n), slot, size(n)); });
}

namespace bulk {

// copy(first row, bytes): by one copy where rows lie close to each other. No lambda, since NVRTC
// takes one with a parameter of any type for a function of the host.
template <class Copy>
WEFT_DEVICE void each_row(unsigned rows, unsigned row_bytes, std::size_t stride, Copy copy) {
  if (stride == row_bytes) return copy(0u, rows * row_bytes);
  for (unsigned row = 0; row < rows; ++row) copy(row, row_bytes);
}

}  // namespace bulk

// As many rows at a time as a slot holds.
inline __device__ __noinline__ void bulk_copy_rows(std::byte* stage, unsigned stage_bytes,
                                                   std::byte* dst, std::size_t dst_stride,
                                                   const std::byte* src, std::size_t src_stride,
                                                   unsigned row_bytes, unsigned rows) {
  const unsigned many = bulk::slot_bytes(stage_bytes) / row_bytes;
  const auto now = [&](unsigned n) { return min(many, rows - n * many); };
  bulk::pass_through(
      stage, stage_bytes, (rows + many - 1) / many,
      [&](unsigned n, unsigned slot, unsigned barrier) {
        bulk::expect(barrier, now(n) * row_bytes);
        bulk::each_row(now(n), row_bytes, src_stride, [&](unsigned row, unsigned bytes) {
          bulk::bring(slot + row * row_bytes, src + (n * many + row) * src_stride, bytes, barrier);
        });
      },
      [&](unsigned n, unsigned slot) {
        bulk::each_row(now(n), row_bytes, dst_stride, [&](unsigned row, unsigned bytes) {
          bulk::send(dst + (n * many + row) * dst_stride, slot + row * row_bytes, bytes);
        });
      });
}

#else

inline constexpr bool kHasBulkCopy = false;
WEFT_DEVICE bool is_in_memory(const void*) { return true; }
WEFT_DEVICE void bulk_copy(std::byte*, unsigned, std::byte*, const std::byte*, std::size_t) {}
WEFT_DEVICE void bulk_copy_rows(std::byte*, unsigned, std::byte*, std::size_t, const std::byte*,
                                std::size_t, unsigned, unsigned) {}

#endif

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
