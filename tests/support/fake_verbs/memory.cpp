// Registered memory, and how bytes move.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/support/fake_gpu/dmabuf.hpp"
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_RELAXED_ORDERING;
constexpr unsigned kRemoteChange = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

std::uint32_t fresh_key(Mr* mr) {
  for (;;) {
    const std::uint32_t key = random_number(32);
    if (key != 0 && state().keys.try_emplace(key, mr).second) return key;
  }
}

ibv_mr* register_memory(ibv_pd* pd, void* base, std::size_t bytes, std::uint64_t iova,
                        unsigned access) {
  const bool changes_without_local =
      (access & kRemoteChange) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0;
  if (bytes == 0 || (access & ~kKnownAccess) != 0 || changes_without_local) return refuse(EINVAL);
  const std::lock_guard lock(state().mutex);
  auto* const mr = new Mr;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = base;
  mr->length = bytes;
  mr->handle = 0;
  mr->lkey =
      fresh_key(mr);  // a real NIC's are often equal, which hides who takes one for the other
  mr->rkey = fresh_key(mr);
  mr->iova = iova;
  mr->access = access;
  ++own<Pd>(pd).users;
  ++state().live.mrs;
  return mr;
}

std::optional<Span> span_of(const Mr& mr, const ibv_pd* pd, std::uint64_t address,
                            std::size_t bytes, unsigned access) {
  if (mr.pd != pd || (mr.access & access) != access) return {};
  const std::uint64_t offset = address - mr.iova;
  if (address < mr.iova || offset > mr.length || bytes > mr.length - offset) return {};
  return Span{static_cast<std::byte*>(mr.addr) + offset, bytes};
}

bool takes_gpus_by(const std::string& way) {
  const char* const ways = std::getenv("FAKE_VERBS_GPU");
  return ways == nullptr || std::string(ways).find(way) != std::string::npos;
}

// Memory of a fake GPU, by the name of its file.
bool is_gpu_memory(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && at >= begin && at < end)
      return line.find("fake-gpu-") != std::string::npos;
  }
  return false;
}

bool is_aligned(const std::byte* at, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

// A word is written at once, after everything before it: it may be what a program waits for.
template <class Word>
void move_word(std::byte* to, const std::byte* from) {
  Word word;
  if (is_aligned(from, sizeof word))
    word = __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_ACQUIRE);
  else
    std::memcpy(&word, from, sizeof word);
  if (is_aligned(to, sizeof word))
    __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
  else
    std::memcpy(to, &word, sizeof word);
}

void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 8) return move_word<std::uint64_t>(to, from);
  if (bytes == 4) return move_word<std::uint32_t>(to, from);
  std::memmove(to, from, bytes);
}

}  // namespace

std::size_t bytes_of(const Spans& spans) {
  std::size_t sum = 0;
  for (const Span& span : spans) sum += span.bytes;
  return sum;
}

std::optional<Spans> local_spans(const ibv_pd* pd, const std::vector<ibv_sge>& sges,
                                 unsigned access) {
  Spans spans;
  for (const ibv_sge& sge : sges) {
    if (sge.length == 0) continue;
    const auto found = state().keys.find(sge.lkey);
    if (found == state().keys.end() || found->second->lkey != sge.lkey) return {};
    const auto span = span_of(*found->second, pd, sge.addr, sge.length, access);
    if (!span) return {};
    spans.push_back(*span);
  }
  return spans;
}

std::optional<Span> remote_span(const ibv_pd* pd, std::uint32_t rkey, std::uint64_t address,
                                std::size_t bytes, unsigned access) {
  if (bytes == 0) return Span{nullptr, 0};  // touches nothing, and nothing is looked at
  const auto found = state().keys.find(rkey);
  if (found == state().keys.end() || found->second->rkey != rkey) return {};
  return span_of(*found->second, pd, address, bytes, access);
}

void move(const Spans& to, const Spans& from) {
  std::size_t done = 0;  // of *source
  auto source = from.begin();
  for (Span target : to) {
    while (target.bytes > 0 && source != from.end()) {
      const std::size_t bytes = std::min(target.bytes, source->bytes - done);
      if (bytes > 0) move_bytes(target.base, source->base + done, bytes);
      target = {target.base + bytes, target.bytes - bytes};
      done += bytes;
      if (done == source->bytes) {
        ++source;
        done = 0;
      }
    }
  }
}

FAKE_VERB ibv_mr* ibv_reg_mr(ibv_pd* pd, void* base, std::size_t bytes, int access) {
  if (const int error = failing(__func__)) return refuse(error);
  if (!takes_gpus_by("peer") && is_gpu_memory(base)) return refuse(EFAULT);
  return register_memory(pd, base, bytes, reinterpret_cast<std::uintptr_t>(base),
                         static_cast<unsigned>(access));
}

// The form that ibv_reg_mr takes for flags that only newer kernels know.
FAKE_VERB ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* base, std::size_t bytes, std::uint64_t iova,
                                   unsigned access) {
  if (const int error = failing(__func__)) return refuse(error);
  return register_memory(pd, base, bytes, iova, access);
}

FAKE_VERB ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                                    std::uint64_t iova, int file, int access) {
  if (const int error = failing(__func__)) return refuse(error);
  if (!takes_gpus_by("dmabuf")) return refuse(EOPNOTSUPP);
  test::FakeDmabuf memory;
  if (::pread(file, &memory, sizeof memory, 0) != sizeof memory ||
      memory.mark != test::FakeDmabuf::kMark || offset > memory.bytes ||
      bytes > memory.bytes - offset)
    return refuse(EINVAL);
  return register_memory(pd, reinterpret_cast<std::byte*>(memory.base + offset), bytes, iova,
                         static_cast<unsigned>(access));
}

FAKE_VERB int ibv_dereg_mr(ibv_mr* mr) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  state().keys.erase(mr->lkey);
  state().keys.erase(mr->rkey);
  --own<Pd>(mr->pd).users;
  --state().live.mrs;
  delete &own<Mr>(mr);
  return 0;
}

}  // namespace weft::fake_verbs
