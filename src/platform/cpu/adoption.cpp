#include "src/platform/cpu/adoption.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/reservation.hpp"

namespace weft::cpu {
namespace {

struct Source {
  std::size_t bytes;
  int file;
  std::size_t lead;
};

// The memory that is adopted now, by address.
struct Registry {
  std::mutex mutex;
  std::map<std::byte*, Source> live;
};
Registry& registry();

// Straight to the kernel: a sanitizer that saw the call would forget what it knows of the variables
// that lie there.
bool map_over(std::byte* base, const Source& source, int kind) {
  const long got = ::syscall(SYS_mmap, base, source.bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED,
                             source.file, static_cast<off_t>(source.lead));
  return got != -1;
}

// fork(): the child's stores are its own, like those to any variable. exec() follows mostly, and
// then nothing has been copied.
void lock_for_fork() { registry().mutex.lock(); }
void unlock_after_fork() { registry().mutex.unlock(); }
void leave_to_parent() {
  for (const auto& [base, source] : registry().live) map_over(base, source, MAP_PRIVATE);
  registry().live.clear();
  registry().mutex.unlock();
}

Registry& registry() {
  static auto* const one = [] {
    ::pthread_atfork(lock_for_fork, unlock_after_fork, leave_to_parent);
    return new Registry;  // outlives every static object that holds memory
  }();
  return *one;
}

// Words that are not zero, so that pages without any are never touched. Neither a call of memcpy
// nor checked accesses: between variables lie the red zones of AddressSanitizer, and what the
// threads that only read do is no race.
#if defined(__GNUC__)
__attribute__((no_sanitize("address"), no_sanitize("thread"), noinline))
#endif
void copy_what_is_not_zero(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto* const words = reinterpret_cast<std::uint64_t*>(to);
  const auto* const source = reinterpret_cast<const std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
    if (source[i] != 0) words[i] = source[i];
}

Status refuse(Range own, std::string_view why) {
  return Status::error(Code::kInvalidArgument, fmt::format("{} bytes at {} cannot be adopted: {}",
                                                           own.bytes, fmt::ptr(own.base), why));
}

// Whether every page can be read: there are mappings without access, as drivers keep for addresses
// of GPUs. A system that does not answer is taken at its word that there is memory.
bool can_be_read(Range own) {
  constexpr std::size_t kMany = 512;
  std::array<char, kMany> bytes;
  for (std::size_t at = 0; at < own.bytes;) {
    std::array<iovec, kMany> pages;
    std::size_t count = 0;
    for (; count < kMany && at < own.bytes; ++count, at += page_bytes())
      pages[count] = {own.base + at, 1};
    const iovec to{bytes.data(), count};
    const ssize_t got = ::process_vm_readv(::getpid(), &to, 1, pages.data(), count, 0);
    if (got < 0 && errno != EFAULT) return true;
    if (got != static_cast<ssize_t>(count)) return false;
  }
  return true;
}

// Under the registry's lock.
Status check_range(Range own) {
  if (own.bytes == 0 || reinterpret_cast<std::uintptr_t>(own.base) % page_bytes() != 0 ||
      own.bytes % page_bytes() != 0)
    return refuse(own, fmt::format("they are not whole pages of {} bytes", page_bytes()));
  std::vector<unsigned char> pages(own.bytes / page_bytes());
  if (::mincore(own.base, own.bytes, pages.data()) != 0)
    return refuse(own, "there is no memory behind some of them");
  if (!can_be_read(own))
    return refuse(own,
                  "host threads cannot read some of them; are they memory of a GPU, which was "
                  "freed, or has this job no symmetric memory of GPUs?");
  if (Reservation::containing({own.base, page_bytes()}).is_ok())
    return refuse(own, "they are symmetric already, being in a heap");
  const auto after = registry().live.lower_bound(own.base + own.bytes);
  if (after == registry().live.begin()) return Status::ok();
  const auto& [base, source] = *std::prev(after);
  if (base + source.bytes <= own.base) return Status::ok();
  return refuse(own, fmt::format("{} bytes at {} are adopted already; PEs that are threads of one "
                                 "process share its variables",
                                 source.bytes, fmt::ptr(base)));
}

}  // namespace

// The copy and the mapping stand together: what is stored in between by another thread is lost.
Result<Adoption> Adoption::make(Range own, Range alias, int file, std::size_t lead) {
  const std::lock_guard lock(registry().mutex);
  RETURN_IF_ERROR(check_range(own));
  const Source source{own.bytes, file, lead};
  registry().live.emplace(own.base, source);
  copy_what_is_not_zero(alias.base, own.base, own.bytes);
  if (map_over(own.base, source, MAP_SHARED)) return Adoption(own);
  registry().live.erase(own.base);
  return refuse(own, fmt::format("mmap: {}", std::strerror(errno)));
}

Adoption::Adoption(Adoption&& other) noexcept : own_(std::exchange(other.own_, Range{})) {}

Adoption::~Adoption() {
  if (own_.base == nullptr) return;
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().live.find(own_.base);
  if (found == registry().live.end()) return;  // I am a child of fork()
  // In one step, from the file to the file: nothing that another thread stores is lost.
  if (!map_over(own_.base, found->second, MAP_PRIVATE))
    LOG(kWarn, "platform", "{} bytes at {} stay shared with peers: {}", own_.bytes,
        fmt::ptr(own_.base), std::strerror(errno));
  registry().live.erase(found);
}

}  // namespace weft::cpu
