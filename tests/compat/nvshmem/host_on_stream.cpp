// Calls that hosts queue on a stream, between neighbours in a ring. All use the default stream, of
// which each PE has its own, and no stream of the program's.
#include <cstdint>
#include <cstring>

#include "tests/compat/nvshmem/host_check.hpp"

namespace {

constexpr cudaStream_t kStream = nullptr;

int me() { return nvshmem_my_pe(); }
int npes() { return nvshmem_n_pes(); }

template <class T>
struct Calls {
  void (*put)(T*, const T*, size_t, int, cudaStream_t);
  void (*get)(T*, const T*, size_t, int, cudaStream_t);
  void (*p)(T*, T, int, cudaStream_t);
  T (*g)(const T*, int, cudaStream_t);
  void (*iput)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int, cudaStream_t);
  void (*iget)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int, cudaStream_t);
  void (*put_signal)(T*, const T*, size_t, uint64_t*, uint64_t, int, int, cudaStream_t);
  int (*broadcast)(nvshmem_team_t, T*, const T*, size_t, int, cudaStream_t);
  int (*fcollect)(nvshmem_team_t, T*, const T*, size_t, cudaStream_t);
  int (*alltoall)(nvshmem_team_t, T*, const T*, size_t, cudaStream_t);
};

// An element that tells whose it is, and which.
template <class T>
T mark(int pe, int i) {
  const auto number = static_cast<std::uint8_t>(1 + 16 * (pe % 7) + i % 16);
  T value{};
  if constexpr (std::is_arithmetic_v<T>)
    value = static_cast<T>(number);
  else
    std::memcpy(&value, &number, 1);
  return value;
}
template <class T>
bool is_mark(const T& value, int pe, int i) {
  const T wanted = mark<T>(pe, i);
  return std::memcmp(&value, &wanted, sizeof(T)) == 0;
}

// All in one queue, in order; read when all of it has run everywhere.
template <class T>
void move(const Calls<T>& calls) {
  const auto n = static_cast<std::size_t>(npes());
  T* const source = symmetric<T>(4 * n);
  T* const dest = symmetric<T>(16 + 5 * n);
  auto* const signal = symmetric<std::uint64_t>(1);
  std::vector<T> mine(4 * n);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = mark<T>(me(), static_cast<int>(i));
  write(source, mine);
  nvshmem_barrier_all();

  calls.put(dest, source, 3, right(), kStream);
  calls.p(dest + 3, mark<T>(me(), 9), right(), kStream);
  calls.iput(dest + 4, source, 2, 1, 2, right(), kStream);
  calls.put_signal(dest + 8, source, 2, signal, 5, NVSHMEM_SIGNAL_ADD, right(), kStream);
  nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_GE, 5, kStream);
  calls.get(dest + 10, source, 2, right(), kStream);
  calls.iget(dest + 12, source, 1, 2, 2, right(), kStream);
  nvshmemx_quiet_on_stream(kStream);
  CHECK(calls.broadcast(NVSHMEM_TEAM_WORLD, dest + 16, source, 1, npes() - 1, kStream) == 0);
  CHECK(calls.fcollect(NVSHMEM_TEAM_WORLD, dest + 16 + n, source, 1, kStream) == 0);
  CHECK(calls.alltoall(NVSHMEM_TEAM_WORLD, dest + 16 + 2 * n, source, 1, kStream) == 0);
  nvshmemx_barrier_all_on_stream(kStream);
  CHECK(is_mark(calls.g(source, right(), kStream), right(), 0));  // waits for the stream

  const auto got = read(dest, 16 + 5 * n);
  for (int i = 0; i < 3; ++i) CHECK(is_mark(got[static_cast<std::size_t>(i)], left(), i));
  CHECK(is_mark(got[3], left(), 9));
  CHECK(is_mark(got[4], left(), 0) && is_mark(got[6], left(), 1));
  CHECK(is_mark(got[8], left(), 0) && is_mark(got[9], left(), 1));
  CHECK(is_mark(got[10], right(), 0) && is_mark(got[11], right(), 1));
  CHECK(is_mark(got[12], right(), 0) && is_mark(got[13], right(), 2));
  CHECK(is_mark(got[16], npes() - 1, 0));
  for (int pe = 0; pe < npes(); ++pe) {
    CHECK(is_mark(got[16 + n + static_cast<std::size_t>(pe)], pe, 0));
    CHECK(is_mark(got[16 + 2 * n + static_cast<std::size_t>(pe)], pe, me()));
  }
  nvshmem_barrier_all();
  nvshmem_free(signal);
  nvshmem_free(dest);
  nvshmem_free(source);
}

template <class T>
struct Waits {
  void (*until)(T*, int, T, cudaStream_t);
  void (*all)(T*, size_t, const int*, int, T, cudaStream_t);
  void (*all_vector)(T*, size_t, const int*, int, T*, cudaStream_t);
  void (*p)(T*, T, int, cudaStream_t);
  T (*g)(const T*, int, cudaStream_t);
};

// Values and status lie where kernels reach them.
template <class T>
void wait(const Waits<T>& calls) {
  T* const words = symmetric<T>(2);
  T* const values = symmetric<T>(2);
  int* const status = symmetric<int>(2);
  write(values, std::vector<T>{1, 2});
  nvshmem_barrier_all();
  calls.p(words, T{1}, right(), kStream);
  calls.p(words + 1, T{2}, right(), kStream);
  calls.until(words, NVSHMEM_CMP_EQ, T{1}, kStream);
  calls.all(words, 2, nullptr, NVSHMEM_CMP_NE, T{0}, kStream);
  calls.all_vector(words, 2, status, NVSHMEM_CMP_GE, values, kStream);
  CHECK(calls.g(words + 1, me(), kStream) == T{2});
  nvshmem_barrier_all();
  nvshmem_free(status);
  nvshmem_free(values);
  nvshmem_free(words);
}

template <class T>
using Reduce = int (*)(nvshmem_team_t, T*, const T*, size_t, cudaStream_t);

template <class T>
void reduce(Reduce<T> sum, Reduce<T> max_scatter, T (*g)(const T*, int, cudaStream_t)) {
  const auto n = static_cast<std::size_t>(npes());
  T* const source = symmetric<T>(n);
  T* const dest = symmetric<T>(2);
  write(source, std::vector<T>(n, number<T>(me() + 1)));
  nvshmem_barrier_all();
  CHECK(sum(NVSHMEM_TEAM_WORLD, dest, source, 1, kStream) == 0);
  CHECK(max_scatter(NVSHMEM_TEAM_WORLD, dest + 1, source, 1, kStream) == 0);
  CHECK(nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, kStream) == 0);
  const T got[] = {g(dest, me(), kStream), g(dest + 1, me(), kStream)};
  const T wanted[] = {number<T>(npes() * (npes() + 1) / 2), number<T>(npes())};
  CHECK(std::memcmp(got, wanted, sizeof(got)) == 0);
  nvshmem_barrier_all();
  nvshmem_free(dest);
  nvshmem_free(source);
}

#define TEST(N, T)                                                                                 \
  move<T>({nvshmemx_##N##_put_on_stream, nvshmemx_##N##_get_on_stream, nvshmemx_##N##_p_on_stream, \
           nvshmemx_##N##_g_on_stream, nvshmemx_##N##_iput_on_stream,                              \
           nvshmemx_##N##_iget_on_stream, nvshmemx_##N##_put_signal_on_stream,                     \
           nvshmemx_##N##_broadcast_on_stream, nvshmemx_##N##_fcollect_on_stream,                  \
           nvshmemx_##N##_alltoall_on_stream})
#define TEST_WAIT(N, T)                                                                  \
  wait<T>({nvshmemx_##N##_wait_until_on_stream, nvshmemx_##N##_wait_until_all_on_stream, \
           nvshmemx_##N##_wait_until_all_vector_on_stream, nvshmemx_##N##_p_on_stream,   \
           nvshmemx_##N##_g_on_stream})
#define TEST_REDUCE(N, T)                                                                    \
  reduce<T>(nvshmemx_##N##_sum_reduce_on_stream, nvshmemx_##N##_max_reducescatter_on_stream, \
            nvshmemx_##N##_g_on_stream)

}  // namespace

int main() {
  nvshmem_init();
  TEST(uint8, std::uint8_t);
  TEST(half, half);
  TEST(short, short);
  TEST(int, int);
  TEST(float, float);
  TEST(double, double);
  TEST(uint64, std::uint64_t);
  TEST_WAIT(short, short);
  TEST_WAIT(int, int);
  TEST_WAIT(uint64, std::uint64_t);
  TEST_REDUCE(uint8, std::uint8_t);
  TEST_REDUCE(half, half);
  TEST_REDUCE(bfloat16, __nv_bfloat16);
  TEST_REDUCE(int, int);
  TEST_REDUCE(float, float);
  TEST_REDUCE(double, double);
  nvshmem_finalize();
  return exit_status();
}
