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
// What threads have stored is there for the engine, the barriers included.
WEFT_DEVICE void fence() { asm volatile("fence.proxy.async;" : : : "memory"); }

WEFT_DEVICE void bring(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(barrier), "r"(bytes)
               : "memory");
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
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}
// All but the last piece that was sent have left their slots.
WEFT_DEVICE void await_slots() { asm volatile("cp.async.bulk.wait_group.read 1;" : : : "memory"); }
// All is where it was sent to, and my thread sees it: what it releases now tells of that, too.
WEFT_DEVICE void await_all() { asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"); }

}  // namespace bulk

inline __device__ __noinline__ void bulk_copy(std::byte* stage, unsigned stage_bytes,
                                              std::byte* dst, const std::byte* src,
                                              std::size_t bytes) {
  const unsigned piece = ((stage_bytes - bulk::kHeader) / bulk::kPieces) & ~127u;
  const auto barriers = static_cast<unsigned>(__cvta_generic_to_shared(stage));
  const unsigned slots = barriers + bulk::kHeader;
  const auto barrier_of = [&](unsigned n) { return barriers + n % bulk::kPieces * 8; };
  const auto slot_of = [&](unsigned n) { return slots + n % bulk::kPieces * piece; };
  const auto size_at = [&](std::size_t at) {
    return bytes - at < piece ? static_cast<unsigned>(bytes - at) : piece;
  };
  for (unsigned k = 0; k < bulk::kPieces; ++k) bulk::make_barrier(barrier_of(k));
  bulk::fence();
  std::size_t asked = 0, sent = 0;
  unsigned in = 0, out = 0;  // pieces
  const auto ask = [&] {
    bulk::bring(slot_of(in), src + asked, size_at(asked), barrier_of(in));
    asked += size_at(asked);
    ++in;
  };
  while (in < bulk::kPieces && asked < bytes) ask();
  while (sent < bytes) {
    bulk::await(barrier_of(out), out / bulk::kPieces % 2);
    bulk::send(dst + sent, slot_of(out), size_at(sent));
    sent += size_at(sent);
    if (++out < 2 || asked >= bytes) continue;
    bulk::await_slots();  // of all pieces but the one that was just sent
    ask();
  }
  bulk::await_all();
  for (unsigned k = 0; k < bulk::kPieces; ++k) bulk::end_barrier(barrier_of(k));
}

#else

inline constexpr bool kHasBulkCopy = false;
WEFT_DEVICE bool is_in_memory(const void*) { return true; }
WEFT_DEVICE void bulk_copy(std::byte*, unsigned, std::byte*, const std::byte*, std::size_t) {}

#endif

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
