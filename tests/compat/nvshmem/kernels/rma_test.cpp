// Put, get and put with signal: every family at every scope, typed and sized, compared byte by
// byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

constexpr std::size_t kCount = 37;  // elements of one call
constexpr std::size_t kPitch = 40;  // of each group, with a gap
constexpr std::size_t kAll = kPitch * kThreads;
constexpr std::ptrdiff_t kDst = 2, kSrc = 3;  // strides
constexpr unsigned char kPoison = 0xa5;

// Symmetric arrays of kAll elements; the strided ones are longer.
template <class T>
struct Arrays {
  T *src, *put, *put_nbi, *get, *get_nbi, *signalled, *signalled_nbi;
  std::uint64_t *signal, *signal_nbi;
};

template <class T>
T* poisoned(Pe& pe, std::size_t count) {
  T* memory = pe.allocate<T>(count);
  std::memset(static_cast<void*>(memory), kPoison, count * sizeof(T));
  return memory;
}

template <class T>
void fill(T* data, std::size_t count, int pe) {
  auto* bytes = reinterpret_cast<unsigned char*>(data);
  for (std::size_t i = 0; i < count * sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>((i * 7 + static_cast<std::size_t>(pe) * 31) % 120);
}

// Where element i of a group goes and comes from.
struct Steps {
  std::ptrdiff_t dst = 1, src = 1;
};

template <class T>
void expect_moved(const T* seen, int from, unsigned groups, Steps steps, const char* what) {
  const std::size_t extent = kAll * static_cast<std::size_t>(steps.dst);
  std::vector<T> wanted(extent);
  std::memset(static_cast<void*>(wanted.data()), kPoison, extent * sizeof(T));
  std::vector<T> source(kAll * kSrc);
  fill(source.data(), source.size(), from);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < kCount; ++i)
      wanted[g * kPitch * static_cast<std::size_t>(steps.dst) +
             i * static_cast<std::size_t>(steps.dst)] =
          source[g * kPitch * static_cast<std::size_t>(steps.src) +
                 i * static_cast<std::size_t>(steps.src)];
  EXPECT_EQ(0, std::memcmp(seen, wanted.data(), extent * sizeof(T))) << what;
}

template <class T, class Move>
void check_moves(Way way, Move move) {
  on_pes_with_module_state(way, 3, [&](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next(), prev = (pe.pe() + pe.npes() - 1) % pe.npes();
    for (int scope = 0; scope < kScopes; ++scope) {
      Arrays<T> a{};
      a.src = pe.allocate<T>(kAll * kSrc);
      fill(a.src, kAll * kSrc, pe.pe());
      for (T** array : {&a.put, &a.put_nbi, &a.get, &a.get_nbi, &a.signalled, &a.signalled_nbi})
        *array = poisoned<T>(pe, kAll);
      a.signal = pe.allocate<std::uint64_t>(kThreads);
      a.signal_nbi = pe.allocate<std::uint64_t>(kThreads);
      std::fill_n(a.signal, kThreads, 0);
      std::fill_n(a.signal_nbi, kThreads, 1);
      pe.barrier();
      pictured.run(kThreads, [=] {
        const unsigned group = my_group(scope);
        move(a, scope, group * kPitch, group, next);
        nvshmem_signal_wait_until(a.signal + group, NVSHMEM_CMP_EQ, 5);
        nvshmem_quiet();
      });
      pe.barrier();
      const unsigned groups = groups_of(scope);
      expect_moved(a.put, prev, groups, {}, "put");
      expect_moved(a.put_nbi, prev, groups, {}, "put_nbi");
      expect_moved(a.get, next, groups, {}, "get");
      expect_moved(a.get_nbi, next, groups, {}, "get_nbi");
      expect_moved(a.signalled, prev, groups, {}, "put_signal");
      expect_moved(a.signalled_nbi, prev, groups, {}, "put_signal_nbi");
      for (unsigned g = 0; g < groups; ++g) {
        EXPECT_EQ(5u, a.signal[g]);
        EXPECT_EQ(4u, a.signal_nbi[g]);
      }
    }
  });
}

template <class T, class Move>
void check_strided(Way way, Move move) {
  on_pes_with_module_state(way, 3, [&](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next(), prev = (pe.pe() + pe.npes() - 1) % pe.npes();
    for (int scope = 0; scope < kScopes; ++scope) {
      T* src = pe.allocate<T>(kAll * kSrc);
      fill(src, kAll * kSrc, pe.pe());
      T* put = poisoned<T>(pe, kAll * kDst);
      T* get = poisoned<T>(pe, kAll * kDst);
      pe.barrier();
      pictured.run(kThreads, [=] {
        move(put, get, src, scope, my_group(scope) * kPitch, next);
        nvshmem_quiet();
      });
      pe.barrier();
      expect_moved(put, prev, groups_of(scope), {kDst, kSrc}, "iput");
      expect_moved(get, next, groups_of(scope), {kDst, kSrc}, "iget");
    }
  });
}

class NvshmemRmaTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemRmaTest, ::testing::ValuesIn(kWays), way_name);

#define WEFT_CHECK_MOVES(T, put_, put_nbi_, get_, get_nbi_, signal_, signal_nbi_)              \
  check_moves<T>(GetParam(),                                                                   \
                 [](const Arrays<T>& a, int scope, std::size_t at, unsigned group, int pe) {   \
                   WEFT_AT_SCOPE(scope, put_, a.put + at, a.src + at, kCount, pe);             \
                   WEFT_AT_SCOPE(scope, put_nbi_, a.put_nbi + at, a.src + at, kCount, pe);     \
                   WEFT_AT_SCOPE(scope, get_, a.get + at, a.src + at, kCount, pe);             \
                   WEFT_AT_SCOPE(scope, get_nbi_, a.get_nbi + at, a.src + at, kCount, pe);     \
                   WEFT_AT_SCOPE(scope, signal_nbi_, a.signalled_nbi + at, a.src + at, kCount, \
                                 a.signal_nbi + group, 3, NVSHMEM_SIGNAL_ADD, pe);             \
                   WEFT_AT_SCOPE(scope, signal_, a.signalled + at, a.src + at, kCount,         \
                                 a.signal + group, 5, NVSHMEM_SIGNAL_SET, pe);                 \
                 })
#define WEFT_CHECK_STRIDED(T, iput_, iget_)                                                    \
  check_strided<T>(                                                                            \
      GetParam(), [](T* put, T* get, const T* src, int scope, std::size_t at, int pe) {        \
        WEFT_AT_SCOPE(scope, iput_, put + at * kDst, src + at * kSrc, kDst, kSrc, kCount, pe); \
        WEFT_AT_SCOPE(scope, iget_, get + at * kDst, src + at * kSrc, kDst, kSrc, kCount, pe); \
      })

#define WEFT_TYPED_MOVES(N, T)                                                      \
  TEST_P(NvshmemRmaTest, N) {                                                       \
    WEFT_CHECK_MOVES(T, N##_put, N##_put_nbi, N##_get, N##_get_nbi, N##_put_signal, \
                     N##_put_signal_nbi);                                           \
    WEFT_CHECK_STRIDED(T, N##_iput, N##_iget);                                      \
  }
WEFT_TYPED_MOVES(double, double)
WEFT_TYPED_MOVES(int, int)
WEFT_TYPED_MOVES(ushort, unsigned short)
WEFT_TYPED_MOVES(bfloat16, __nv_bfloat16)

#define WEFT_SIZED_MOVES(S, T)                                                       \
  TEST_P(NvshmemRmaTest, Bits##S) {                                                  \
    WEFT_CHECK_MOVES(T, put##S, put##S##_nbi, get##S, get##S##_nbi, put##S##_signal, \
                     put##S##_signal_nbi);                                           \
  }
struct Sixteen {
  std::uint64_t words[2];
};
WEFT_SIZED_MOVES(mem, unsigned char)
WEFT_SIZED_MOVES(8, std::uint8_t)
WEFT_SIZED_MOVES(32, std::uint32_t)
WEFT_SIZED_MOVES(128, Sixteen)
TEST_P(NvshmemRmaTest, StridedBits) {
  WEFT_CHECK_STRIDED(std::uint16_t, iput16, iget16);
  WEFT_CHECK_STRIDED(std::uint64_t, iput64, iget64);
  WEFT_CHECK_STRIDED(Sixteen, iput128, iget128);
}

template <class T, class P, class G>
void check_values(Way way, P p, G g) {
  on_pes_with_module_state(way, 3, [&](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next(), prev = (pe.pe() + pe.npes() - 1) % pe.npes();
    T* src = pe.allocate<T>(kThreads);
    T* put = pe.allocate<T>(kThreads);
    T* got = pe.allocate<T>(kThreads);
    fill(src, kThreads, pe.pe());
    pe.barrier();
    pictured.run(kThreads, [=] {
      const unsigned i = dev::thread_rank();
      p(put + i, src[i], next);
      got[i] = g(src + i, next);
      nvshmem_quiet();
    });
    pe.barrier();
    std::vector<T> wanted(kThreads);
    fill(wanted.data(), kThreads, prev);
    EXPECT_EQ(0, std::memcmp(put, wanted.data(), kThreads * sizeof(T)));
    fill(wanted.data(), kThreads, next);
    EXPECT_EQ(0, std::memcmp(got, wanted.data(), kThreads * sizeof(T)));
  });
}
TEST_P(NvshmemRmaTest, SingleValues) {
  check_values<double>(GetParam(), nvshmem_double_p<>, nvshmem_double_g<>);
  check_values<char>(GetParam(), nvshmem_char_p<>, nvshmem_char_g<>);
  check_values<__nv_bfloat16>(GetParam(), nvshmem_bfloat16_p<>, nvshmem_bfloat16_g<>);
  check_values<std::int32_t>(GetParam(), nvshmem_int32_p<>, nvshmem_int32_g<>);
}

// A value that is put before a fence is there when the signal after the fence is; a block's puts
// are complete after its flush.
TEST_P(NvshmemRmaTest, SignalsAndOrder) {
  on_pes_with_module_state(GetParam(), 3, [](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next(), prev = (pe.pe() + pe.npes() - 1) % pe.npes();
    int* data = pe.allocate<int>(2);
    auto* signal = pe.allocate<std::uint64_t>(2);
    auto* seen = pe.allocate<std::uint64_t>(3);
    std::fill_n(data, 2, -1);
    std::fill_n(signal, 2, 0);
    pe.barrier();
    const int mine = pe.pe();
    pictured.run(1, [=] {
      nvshmem_int_p(data, mine, next);
      nvshmem_fence();
      nvshmemx_signal_op(signal, 3, NVSHMEM_SIGNAL_SET, next);
      seen[0] = nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GT, 2);
      seen[1] = static_cast<std::uint64_t>(data[0]);
      nvshmemx_signal_op(signal + 1, 4, NVSHMEM_SIGNAL_ADD, next);
      nvshmemx_signal_op(signal + 1, 4, NVSHMEM_SIGNAL_ADD, next);
      nvshmem_signal_wait_until(signal + 1, NVSHMEM_CMP_EQ, 8);
      seen[2] = nvshmem_signal_fetch(signal + 1);
      nvshmem_int_put_nbi(data + 1, data, 1, next);
      nvshmemx_flush();
    });
    pe.barrier();
    EXPECT_EQ(3u, seen[0]);
    EXPECT_EQ(static_cast<std::uint64_t>(prev), seen[1]);
    EXPECT_EQ(8u, seen[2]);
    EXPECT_EQ((prev + pe.npes() - 1) % pe.npes(), data[1]);
  });
}

}  // namespace
}  // namespace weft::test
