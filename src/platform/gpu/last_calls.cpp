#include "src/platform/gpu/last_calls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::gpu {
namespace {

// A copy of a name, since a library that has it may be closed; in words, so that a thread may read
// it while another one writes. All is relaxed: a message may have a name in parts of two.
class Name {
 public:
  void set(std::string_view text) {
    std::array<char, kBytes> bytes{};
    std::memcpy(bytes.data(), text.data(), std::min(text.size(), kBytes));
    for (std::size_t word = 0; word < kWords; ++word) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + word * sizeof value, sizeof value);
      words_[word].store(value, std::memory_order_relaxed);
    }
  }
  std::string get() const {
    std::array<char, kBytes> bytes{};
    for (std::size_t word = 0; word < kWords; ++word) {
      const std::uint64_t value = words_[word].load(std::memory_order_relaxed);
      std::memcpy(bytes.data() + word * sizeof value, &value, sizeof value);
    }
    return {bytes.data(), ::strnlen(bytes.data(), kBytes)};
  }

 private:
  static constexpr std::size_t kWords = 12, kBytes = kWords * sizeof(std::uint64_t);
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

constexpr std::size_t kKept = 4;
std::array<Name, kKept> names;
std::atomic<std::size_t> count{0};
std::atomic<bool> known{false};

}  // namespace

void note_call(std::string_view name) noexcept {
  names[count.fetch_add(1, std::memory_order_relaxed) % kKept].set(name);
}

std::string calls_before(abi::Error error) {
  if (!abi::ends_all(error)) return "";
  known.store(true, std::memory_order_relaxed);
  std::string text;
  const std::size_t all = count.load(std::memory_order_relaxed);
  for (std::size_t back = 1; back <= std::min(kKept, all); ++back) {
    text += back == 1 ? ". Before it, this process queued: " : ", before that ";
    text += names[(all - back) % kKept].get();
  }
  return text;
}

bool is_failure_known() noexcept { return known.load(std::memory_order_relaxed); }

}  // namespace weft::gpu
