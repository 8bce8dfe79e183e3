// put, get, p, g and their strided forms: every type, awkward sizes and addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/values.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

// The values that `pe` sends: anybody can make them.
template <class T>
std::vector<T> values_of(int pe, std::uint64_t round, std::size_t count) {
  Random random(test_seed() + round * 1000 + static_cast<std::uint64_t>(pe));
  return random_values<T>(random, count);
}

// A room of symmetric memory; the part in use lies somewhere inside, poison all round.
template <class T>
struct Room {
  static constexpr std::size_t kElements = 700;
  T* memory = nullptr;
  T* part = nullptr;
  std::size_t count = 0;

  void place(std::size_t shift, std::size_t elements) {
    part = memory + shift;
    count = elements;
    poison_bytes(memory, kElements * sizeof(T));
  }
  // Bytes outside the part that were written to.
  std::size_t touched_outside() const {
    const auto before = static_cast<std::size_t>(part - memory);
    return touched_bytes(memory, before * sizeof(T)) +
           touched_bytes(part + count, (kElements - before - count) * sizeof(T));
  }
};

template <class T>
Status put_and_get(Runtime& rt, Room<T>& room, std::uint64_t round, bool later) {
  Context& ctx = rt.context();
  const int next = next_of(rt);
  const std::vector<T> mine = values_of<T>(rt.pe(), round, room.count);
  RETURN_IF_ERROR(rt.barrier());  // everybody's room is poisoned
  if (later) {
    RETURN_IF_ERROR(ctx.put_nbi(room.part, mine.data(), room.count, next));
  } else {
    std::vector<T> source = mine;
    RETURN_IF_ERROR(ctx.put(room.part, source.data(), room.count, next));
    std::fill(source.begin(), source.end(), T{});  // a put that has returned is done with it
  }
  RETURN_IF_ERROR(ctx.quiet());
  RETURN_IF_ERROR(rt.barrier());
  const std::vector<T> theirs = values_of<T>(previous_of(rt), round, room.count);
  EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), room.part));
  EXPECT_EQ(room.touched_outside(), 0u);

  std::vector<T> got(room.count + 2, T{});
  RETURN_IF_ERROR(later ? ctx.get_nbi(got.data() + 1, room.part, room.count, next)
                        : ctx.get(got.data() + 1, room.part, room.count, next));
  if (later) RETURN_IF_ERROR(ctx.quiet());
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), got.begin() + 1));
  EXPECT_TRUE(got.front() == T{} && got.back() == T{});
  return rt.barrier();
}

template <class T>
Status one_value(Runtime& rt, Room<T>& room, std::uint64_t round) {
  room.place(3, 1);
  RETURN_IF_ERROR(rt.barrier());
  const T mine = values_of<T>(rt.pe(), round, 1)[0];
  RETURN_IF_ERROR(rt.context().p(room.part, mine, next_of(rt)));
  RETURN_IF_ERROR(rt.barrier());
  EXPECT_TRUE(*room.part == values_of<T>(previous_of(rt), round, 1)[0]);
  EXPECT_EQ(room.touched_outside(), 0u);
  ASSIGN_OR_RETURN(const T back, rt.context().g(room.part, next_of(rt)));
  EXPECT_TRUE(back == mine);
  return rt.barrier();
}

template <class T>
Status strided(Runtime& rt, Room<T>& room, std::uint64_t round, std::ptrdiff_t dst_stride,
               std::ptrdiff_t src_stride, std::size_t count) {
  const auto to = static_cast<std::size_t>(dst_stride), from = static_cast<std::size_t>(src_stride);
  room.place(1, count == 0 ? 0 : (count - 1) * to + 1);
  RETURN_IF_ERROR(rt.barrier());
  const std::vector<T> mine = values_of<T>(rt.pe(), round, count * from + 1);
  Context& ctx = rt.context();
  RETURN_IF_ERROR(ctx.iput(room.part, mine.data(), dst_stride, src_stride, count, next_of(rt)));
  RETURN_IF_ERROR(rt.barrier());
  const std::vector<T> theirs = values_of<T>(previous_of(rt), round, count * from + 1);
  for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(room.part[i * to] == theirs[i * from]);
  for (std::size_t i = 0; i + 1 < count; ++i)
    EXPECT_EQ(touched_bytes(room.part + i * to + 1, (to - 1) * sizeof(T)), 0u);
  EXPECT_EQ(room.touched_outside(), 0u);

  std::vector<T> got(count * from + 1, T{});
  RETURN_IF_ERROR(ctx.iget(got.data(), room.part, src_stride, dst_stride, count, next_of(rt)));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == (i % from == 0 && i / from < count ? mine[i] : T{})) << "element " << i;
  return rt.barrier();
}

// Blocks of `block` elements, their starts `to` elements apart there and `from` here.
template <class T>
Status in_blocks(Runtime& rt, Room<T>& room, std::uint64_t round, std::size_t to, std::size_t from,
                 std::size_t block, std::size_t count) {
  const auto dst_stride = static_cast<std::ptrdiff_t>(to);
  const auto src_stride = static_cast<std::ptrdiff_t>(from);
  room.place(5, count == 0 ? 0 : (count - 1) * to + block);
  RETURN_IF_ERROR(rt.barrier());
  const std::size_t extent = count * from + block;
  const std::vector<T> mine = values_of<T>(rt.pe(), round, extent);
  Context& ctx = rt.context();
  RETURN_IF_ERROR(ctx.put_blocks(room.part, mine.data(), dst_stride, src_stride, sizeof(T), block,
                                 count, next_of(rt)));
  RETURN_IF_ERROR(rt.barrier());
  const std::vector<T> theirs = values_of<T>(previous_of(rt), round, extent);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < block; ++k)
      EXPECT_TRUE(room.part[i * to + k] == theirs[i * from + k]);
  for (std::size_t i = 0; i + 1 < count; ++i)
    EXPECT_EQ(touched_bytes(room.part + i * to + block, (to - block) * sizeof(T)), 0u);
  EXPECT_EQ(room.touched_outside(), 0u);

  std::vector<T> got(extent, T{});
  RETURN_IF_ERROR(ctx.get_blocks(got.data(), room.part, src_stride, dst_stride, sizeof(T), block,
                                 count, next_of(rt)));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == (i % from < block && i / from < count ? mine[i] : T{}))
        << "element " << i;
  return rt.barrier();
}

template <class T>
Status transfers(Runtime& rt) {
  Random random(test_seed());
  Room<T> room;
  ASSIGN_OR_RETURN(room.memory, rt.allocate<T>(Room<T>::kElements));
  std::uint64_t round = 0;
  for (const std::size_t count : {0, 1, 2, 7, 65, 600}) {
    room.place(random() % 90, count);
    RETURN_IF_ERROR(put_and_get(rt, room, ++round, random() % 2 == 0));
  }
  RETURN_IF_ERROR(one_value(rt, room, ++round));
  RETURN_IF_ERROR(strided(rt, room, ++round, 3, 2, 1 + random() % 100));
  RETURN_IF_ERROR(strided(rt, room, ++round, 1, 5, random() % 50));
  RETURN_IF_ERROR(in_blocks(rt, room, ++round, 7, 5, 3, 1 + random() % 60));
  RETURN_IF_ERROR(in_blocks(rt, room, ++round, 4, 4, 4, random() % 60));
  return rt.free(room.memory);
}

Status transfers_of_every_type(Runtime& rt) {
#define WEFT_TYPE(name, type, ...)                                 \
  {                                                                \
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, #name); \
    RETURN_IF_ERROR(transfers<type>(rt));                          \
  }
#include "include/compat/shmem/types.def.h"
  return Status::ok();
}

class TransferTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(TransferTest, EveryType) { EXPECT_OK(run_pes(GetParam(), transfers_of_every_type)); }

// Any address, any length, also beyond a chunk of the heap; to every PE, me included.
TEST_P(TransferTest, UnalignedAndLarge) {
  PeGroup group = GetParam();
  group.options.heap_chunk = 1 << 20;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    constexpr std::size_t kRoom = (3u << 20) + 12345;
    ASSIGN_OR_RETURN(void* const memory, rt.allocate_bytes(kRoom * 2));
    auto* const inbox = static_cast<std::byte*>(memory);
    Random random(test_seed());
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4},
                                    std::size_t{8}, std::size_t{15}, std::size_t{4097}, kRoom}) {
      const int shift = static_cast<int>(random() % static_cast<std::uint64_t>(rt.npes()));
      const std::size_t at = random() % kRoom;
      poison_bytes(inbox, kRoom * 2);
      RETURN_IF_ERROR(rt.barrier());
      Random mine(test_seed() + bytes + static_cast<std::uint64_t>(rt.pe()));
      const std::vector<std::byte> source = random_bytes(mine, bytes);
      const int to = (rt.pe() + shift) % rt.npes();
      RETURN_IF_ERROR(rt.context().put_bytes(inbox + at, source.data(), bytes, to));
      RETURN_IF_ERROR(rt.barrier());
      const int from = (rt.pe() + rt.npes() - shift) % rt.npes();
      Random theirs(test_seed() + bytes + static_cast<std::uint64_t>(from));
      const std::vector<std::byte> wanted = random_bytes(theirs, bytes);
      EXPECT_EQ(std::memcmp(inbox + at, wanted.data(), bytes), 0) << bytes << " bytes at " << at;
      EXPECT_EQ(touched_bytes(inbox, at), 0u);
      EXPECT_EQ(touched_bytes(inbox + at + bytes, kRoom * 2 - at - bytes), 0u);
      std::vector<std::byte> back(bytes);
      RETURN_IF_ERROR(rt.context().get_bytes(back.data(), inbox + at, bytes, to));
      EXPECT_EQ(back, source);
      RETURN_IF_ERROR(rt.barrier());
    }
    return rt.free(memory);
  }));
}

// A mapped peer's memory, and always one's own, can be had by address; what is not symmetric
// cannot.
TEST_P(TransferTest, Pointers) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
    int local = 0;
    for (int pe = 0; pe < rt.npes(); ++pe) {
      auto* const there = static_cast<std::uint64_t*>(rt.context().ptr(word, pe));
      EXPECT_EQ(there != nullptr, rt.options().fault.empty() || pe == rt.pe());
      EXPECT_EQ(rt.context().ptr(&local, pe), nullptr);
      if (there != nullptr)
        __atomic_fetch_add(there, 1u + static_cast<unsigned>(pe), __ATOMIC_RELAXED);
    }
    EXPECT_EQ(rt.context().ptr(word, rt.npes()), nullptr);
    EXPECT_EQ(rt.context().ptr(word, -1), nullptr);
    RETURN_IF_ERROR(rt.barrier());
    const int visitors = rt.options().fault.empty() ? rt.npes() : 1;
    EXPECT_EQ(*word,
              static_cast<std::uint64_t>(visitors) * static_cast<std::uint64_t>(rt.pe() + 1));
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, TransferTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);

}  // namespace
}  // namespace weft
