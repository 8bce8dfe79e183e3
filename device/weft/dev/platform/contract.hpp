// The contract of a platform with the device API, in namespace weft::dev::platform: documentation,
// and a check at compile time that all of it is there. To port Weft, write a header beside this
// one.
//
// Identity
//   kWarpSize                         threads of a warp; the last warp of a block may be short
//   unsigned thread_rank()            0 .. block_size() - 1, linear also in a block of 3 dimensions
//   unsigned block_size()
//   unsigned block_rank()             0 .. grid_size() - 1
//   unsigned grid_size()              blocks
//
// Together. Every thread of the warp or block calls; earlier memory accesses of each are visible
// to all when it returns. T is trivially copyable, of at most 16 bytes.
//   void sync_warp(), sync_block()
//   T warp_shuffle(T value, unsigned lane)     the value that `lane` of my warp gave
//   T block_broadcast(T value)                 the value that thread 0 of my block gave
//   bool warp_all(bool), block_all(bool)       true when all gave true
//   bool kBlockVotes                           block_all() takes none of the block's shared memory
//
// Memory. T is 1, 2, 4 or 8 bytes for load and store, 4 or 8 for the others; integers where
// arithmetic is done. All are single atomic accesses at a naturally aligned address; all but loads
// and stores want one of the GPU's or the host's memory, not of a block's shared one.
//   T load<Order, Reach>(const T*)             kRelaxed, kAcquire
//   void store<Order, Reach>(T*, T)            kRelaxed, kRelease
//   bool acquire(const T*, holds)              holds(value) is true of what I have loaded there,
//                                              relaxed: acquires it; false: it is so no longer
//   Pair load_pair(const uint64_t*)            relaxed, for the system; each word is atomic by
//   void store_pair(uint64_t*, Pair)           itself, and both go at once where hardware can
//   T exchange, fetch_add, fetch_and, fetch_or, fetch_xor <Order, Reach>(T*, T)
//   T compare_swap<Order, Reach>(T*, T compare, T value)
//                                              kRelaxed, kAcquire; all return the old value
//   void add<Order, Reach>(T*, T)              kRelaxed, kRelease
//   void fence<Reach>()               stores of mine that come later are ordered after everything
//                                     that comes before (also what others did that I synchronised
//                                     with); loads of mine that come later, after earlier loads
//   void full_fence()                 fence<kSystem>, and loads of mine that come later also after
//                                     the stores before it are visible to everybody
//   bool kFencesForOthers             a fence of one thread between two barriers does for all of
//                                     their threads what a fence of each does
//   bool kHasBulkCopy                 bulk_copy(stage, stage_bytes, dst, src, bytes), by one
//                                     thread, moves what is_in_memory() and all at multiples of 16;
//                                     bulk_copy_rows(stage, stage_bytes, dst, dst_stride, src,
//                                     src_stride, row_bytes, rows) the same of rows, each no more
//                                     than a tenth of the stage
//   bool kCopiesShares                threads share a copy by contiguous parts rather than by
//                                     every n-th unit
//
//   void settle(T&)                   a number is worked out here, and kept: not anew at each use
//   void lies_in_memory(const T&)     an object whose parts are loaded where they are used, and
//                                     take no registers in between
//
// Time and the rest
//   void relax()                      in every spin: pause, yield or sleep
//   kEagerPolls                       polls of a wait before the first relax()
//   std::uint64_t clock_ns()          steady, the same rate as wall time
//   std::uint32_t ticks()             another number at each call of a thread, without memory
//                                     traffic; of any rate and beginning
//   std::byte* shared_memory()        dynamic shared memory of my block
//   void trap()                       after a fault, when the user wants the kernel to end
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace contract {

using Word = std::uint64_t;

template <class Wanted, class Given>
inline constexpr bool same = std::is_same_v<Wanted, Given>;

static_assert(platform::kWarpSize > 1 && (platform::kWarpSize & (platform::kWarpSize - 1)) == 0,
              "a warp is a power of two of threads");
static_assert(same<const bool, decltype(platform::kCopiesShares)>);
static_assert(same<const bool, decltype(platform::kBlockVotes)>);

static_assert(same<unsigned, decltype(platform::thread_rank())>);
static_assert(same<unsigned, decltype(platform::block_size())>);
static_assert(same<unsigned, decltype(platform::block_rank())>);
static_assert(same<unsigned, decltype(platform::grid_size())>);

static_assert(same<void, decltype(platform::sync_warp())>);
static_assert(same<void, decltype(platform::sync_block())>);
static_assert(same<Word, decltype(platform::warp_shuffle(Word{}, 0u))>);
static_assert(same<Word, decltype(platform::block_broadcast(Word{}))>);
static_assert(same<bool, decltype(platform::warp_all(true))>);
static_assert(same<bool, decltype(platform::block_all(true))>);

template <Order kOrder, Reach kReach>
WEFT_HOST_DEVICE constexpr bool has_memory() {
  using P = Word*;
  return same<Word, decltype(platform::load<kOrder, kReach>(std::declval<const Word*>()))> &&
         same<void, decltype(platform::store<kOrder, kReach>(P{}, Word{}))> &&
         same<Word, decltype(platform::exchange<kOrder, kReach>(P{}, Word{}))> &&
         same<Word, decltype(platform::compare_swap<kOrder, kReach>(P{}, Word{}, Word{}))> &&
         same<Word, decltype(platform::fetch_add<kOrder, kReach>(P{}, Word{}))> &&
         same<Word, decltype(platform::fetch_and<kOrder, kReach>(P{}, Word{}))> &&
         same<Word, decltype(platform::fetch_or<kOrder, kReach>(P{}, Word{}))> &&
         same<Word, decltype(platform::fetch_xor<kOrder, kReach>(P{}, Word{}))> &&
         same<void, decltype(platform::add<kOrder, kReach>(P{}, Word{}))> &&
         same<void, decltype(platform::fence<kReach>())> &&
         same<void, decltype(platform::full_fence())>;
}
static_assert(has_memory<Order::kRelaxed, Reach::kSystem>());
static_assert(same<bool, decltype(platform::acquire(std::declval<const Word*>(),
                                                    std::declval<bool (*)(Word)>()))>);
static_assert(same<Pair, decltype(platform::load_pair(std::declval<const Word*>()))>);
static_assert(same<void, decltype(platform::store_pair(std::declval<Word*>(), Pair{}))>);

static_assert(same<void, decltype(platform::settle(std::declval<Word&>()))>);
static_assert(same<void, decltype(platform::lies_in_memory(std::declval<const Word&>()))>);
static_assert(same<void, decltype(platform::relax())>);
static_assert(same<const std::uint32_t, decltype(platform::kEagerPolls)>);
static_assert(same<const bool, decltype(platform::kHasBulkCopy)>);
static_assert(same<bool, decltype(platform::is_in_memory(std::declval<const void*>()))>);
static_assert(same<void, decltype(platform::bulk_copy(
                             std::declval<std::byte*>(), 0u, std::declval<std::byte*>(),
                             std::declval<const std::byte*>(), std::size_t{}))>);
static_assert(
    same<void, decltype(platform::bulk_copy_rows(
                   std::declval<std::byte*>(), 0u, std::declval<std::byte*>(), std::size_t{},
                   std::declval<const std::byte*>(), std::size_t{}, 0u, 0u))>);
static_assert(same<const bool, decltype(platform::kFencesForOthers)>);
static_assert(same<std::uint64_t, decltype(platform::clock_ns())>);
static_assert(same<std::uint32_t, decltype(platform::ticks())>);
static_assert(same<std::byte*, decltype(platform::shared_memory())>);
static_assert(same<void, decltype(platform::trap())>);

}  // namespace contract
}  // namespace WEFT_TARGET
}  // namespace weft::dev
