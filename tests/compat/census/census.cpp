#include "tests/compat/census/census.hpp"

#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace census {

std::vector<weft::Op> (*take_recorded)() = nullptr;
void (*hold_delivery)(bool hold) = nullptr;

namespace {

constexpr int kShown = 30;  // findings that are printed; the rest is counted

struct Job {
  int me = 0, npes = 1;
  std::byte *target = nullptr, *source = nullptr;
  std::vector<std::byte> mine = std::vector<std::byte>(kArena);
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  std::uint64_t seed = 0, round = 0;
  int findings = 0;
};

Job& job() {
  static Job the_job;
  return the_job;
}

int modulo(std::int64_t a, int n) { return static_cast<int>((a % n + n) % n); }

}  // namespace

int me() { return job().me; }
int npes() { return job().npes; }
std::byte* target() { return job().target; }
std::byte* source() { return job().source; }
std::byte* mine() { return job().mine.data(); }
shmem_ctx_t context() { return job().context; }
std::uint64_t round() { return job().round; }

void start(std::uint64_t seed) {
  Job& it = job();
  shmem_init();
  it.me = shmem_my_pe();
  it.npes = shmem_n_pes();
  it.target = static_cast<std::byte*>(shmem_align(4096, kArena));
  it.source = static_cast<std::byte*>(shmem_align(4096, kArena));
  auto* shared_seed = static_cast<std::uint64_t*>(shmem_malloc(sizeof(seed)));
  *shared_seed = seed;
  shmem_barrier_all();
  shmem_getmem(&it.seed, shared_seed, sizeof(seed), 0);
  shmem_barrier_all();
  shmem_free(shared_seed);
  if (it.me == 0) fmt::print("seed {}\n", it.seed);
  const Subject create{"shmem_ctx_create", {}};
  expect(create, shmem_ctx_create(0, &it.context) == 0, "returned no context");
}

int finish() {
  Job& it = job();
  shmem_ctx_destroy(it.context);
  shmem_free(it.source);
  shmem_free(it.target);
  shmem_finalize();
  if (it.findings > 0) fmt::print("PE {}: {} findings\n", it.me, it.findings);
  std::fflush(stdout);
  return it.findings == 0 ? 0 : 1;
}

void begin() {
  Job& it = job();
  shmem_barrier_all();  // nobody looks at the last round any more
  ++it.round;
  poison(it.target, kArena);
  poison(it.source, kArena);
  poison(it.mine.data(), kArena);
  shmem_barrier_all();
  take_ops();
}

int peer() { return modulo(job().me + static_cast<std::int64_t>(job().round), job().npes); }
int writer() { return modulo(job().me - static_cast<std::int64_t>(job().round), job().npes); }

std::mt19937_64 data(int pe) {
  return std::mt19937_64(job().seed + job().round * 1000003 + static_cast<std::uint64_t>(pe) * 17);
}

void quiet() {
  shmem_quiet();
  shmem_ctx_quiet(context());
}

void fence() {
  shmem_fence();
  shmem_ctx_fence(context());
}

void poison(void* bytes, std::size_t count) {
  std::memset(bytes, static_cast<int>(kPoison), count);
}

bool is_poison(const void* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<const std::byte*>(bytes)[i] != kPoison) return false;
  return true;
}

void fail(const Subject& subject, const std::string& what) {
  if (++job().findings <= kShown)
    fmt::print("PE {} of {}: {}: {}\n", me(), npes(), subject.name, what);
}

void expect(const Subject& subject, bool holds, const std::string& what) {
  if (!holds) fail(subject, what);
}

void expect_elements(const Subject& subject, const void* seen, const void* wanted,
                     std::size_t count, const std::string& where) {
  const std::size_t size = subject.element.size;
  const auto* a = static_cast<const std::byte*>(seen);
  const auto* b = static_cast<const std::byte*>(wanted);
  for (std::size_t i = 0; i < count; ++i)
    if (!subject.element.equal(a + i * size, b + i * size))
      return fail(subject, fmt::format("{}: element {} of {} is wrong", where, i, count));
  if (!is_poison(a + count * size, size))
    fail(subject, fmt::format("{}: it wrote behind element {}", where, count));
}

bool records() { return take_recorded != nullptr; }
Undelivered::Undelivered(bool wanted) : held_(wanted && records()) {
  if (held_) hold_delivery(true);
}
Undelivered::~Undelivered() {
  if (held_) hold_delivery(false);
}
std::vector<weft::Op> take_ops() { return records() ? take_recorded() : std::vector<weft::Op>(); }

void expect_moved(const Subject& subject, weft::OpKind kind, std::size_t bytes) {
  if (!records()) return;
  std::size_t moved = 0;
  for (const weft::Op& op : take_ops()) {
    expect(subject, op.kind == kind, fmt::format("posted an op of kind {}", int(op.kind)));
    expect(subject, op.pe == static_cast<unsigned>(peer()), fmt::format("went to PE {}", op.pe));
    moved += op.bytes;
  }
  expect(subject, moved == bytes, fmt::format("moved {} bytes, not {}", moved, bytes));
}

}  // namespace census
