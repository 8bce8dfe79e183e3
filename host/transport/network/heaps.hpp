// Heaps: the registered chunks of my heap, and what the peers told of theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "host/transport/apply.hpp"
#include "host/transport/network/memory.hpp"
#include "host/transport/transport.hpp"

namespace weft::network {

class Heaps {
 public:
  Heaps(const char* network, const TransportEnv& env)
      : network_(network),
        env_(env),
        theirs_(static_cast<std::size_t>(env.npes)),
        ends_(static_cast<std::size_t>(env.npes)) {}

  // A chunk of mine, as it was registered, or not (Windows); what the others need to reach it.
  Blob add_mine(const Region& region, Registered memory);
  Status add_theirs(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed);
  // A PE's chunk is gone; and mine of the same offset, since that is so for all.
  void remove(int pe, std::uint64_t offset);
  // Gives my registrations back.
  void clear();

  // The offsets of a PE that exist, but for holes among what is adopted.
  Extent extent(int pe) const { return extent_of(ends_[static_cast<std::size_t>(pe)]); }
  Extent my_extent() const { return extent_of(my_ends_); }

  // A part of a peer's memory that one request reaches.
  struct There {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
    std::uint64_t bytes = 0;
  };
  // `bytes` at an offset of a PE's, one chunk after the other. False: not all of it exists.
  bool find(int pe, std::uint64_t offset, std::uint64_t bytes, std::vector<There>& parts,
            std::size_t rail = 0) const;
  // Where `bytes` at an offset of mine lie; null: they are not there, or in several places.
  std::byte* find_mine(std::uint64_t offset, std::uint64_t bytes) const;
  // My key of local memory that lies in a registered chunk of mine.
  std::optional<std::uint64_t> key_of(const void* local, std::uint64_t bytes,
                                      std::size_t rail = 0) const;

 private:
  struct Shared {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    Keys keys{};
  };
  struct Mine {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Registered memory;
  };
  // How far the chunks of either kind go, read without the lock.
  struct Ends {
    std::atomic<std::uint64_t> heap{0}, adopted{0};
  };
  void set_end(Ends& ends, std::uint64_t offset, std::uint64_t bytes);
  Extent extent_of(const Ends& ends) const;

  const char* const network_;
  const TransportEnv& env_;
  mutable std::shared_mutex mutex_;                      // a heap grows while threads send
  std::map<std::uint64_t, Mine> mine_;                   // by address
  std::vector<std::map<std::uint64_t, Shared>> theirs_;  // per PE, by offset
  std::vector<Ends> ends_;                               // per PE
  Ends my_ends_;
};

}  // namespace weft::network
