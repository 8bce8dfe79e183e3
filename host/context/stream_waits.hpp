// StreamWaits: waits that streams carry out by themselves, which know no deadline. Each marks in
// memory of the host when it begins and ends; look() reports those that have lasted too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft {

class StreamWaits {
 public:
  struct Wait {
    WordStep step;
    std::uint64_t offset = 0;  // of the word in the heap, for people
  };
  // Reads a word of the heap, whatever memory that is.
  using ReadWord = std::function<Result<std::uint64_t>(const std::uint64_t* word)>;
  using WriteWord = std::function<Status(std::uint64_t* word, std::uint64_t value)>;

  static constexpr std::size_t kMost = 1024;  // at a time; a captured one counts for ever

  static Result<std::unique_ptr<StreamWaits>> create(Platform& platform, std::uint64_t deadline_ns,
                                                     ReadWord read, WriteWord write);

  // Queues the wait. False: there are as many already as can be, and nothing was queued.
  Result<bool> queue(const Wait& wait, Stream stream);
  // Reports, once each, the waits that began longer than the deadline before `now_ns`.
  Status look(std::uint64_t now_ns);
  // The job has ended so, and nobody will set the words: those that a stream waits for now get
  // their values from here. Reports the first wait that ended so. To be called again for waits that
  // begin later.
  Status end_waits(const Status& end);
  // Some stream has not come to the end of its waits; replays of captured ones do not count.
  bool any_left();

 private:
  // The values of a mark. The stream writes the last two.
  enum Mark : std::uint64_t { kQueued = 2, kBegun = 1, kEnded = 0 };
  struct Entry {
    Wait wait;
    bool taken = false, captured = false, reported = false;
    std::uint64_t since_ns = 0;  // that look() knows it has begun; 0: it has not
  };

  StreamWaits(Platform& platform, Memory marks, std::uint64_t deadline_ns, ReadWord read,
              WriteWord write)
      : platform_(platform),
        marks_(std::move(marks)),
        deadline_ns_(deadline_ns),
        read_(std::move(read)),
        write_(std::move(write)),
        entries_(kMost) {}
  std::uint64_t* mark(std::size_t i) const {
    return reinterpret_cast<std::uint64_t*>(marks_.base()) + i;
  }
  std::size_t find_free();
  std::string word_text(const Entry& entry) const;
  std::string describe(const Entry& entry, std::uint64_t now_ns) const;

  Platform& platform_;
  const Memory marks_;
  const std::uint64_t deadline_ns_;
  const ReadWord read_;
  const WriteWord write_;
  std::mutex mutex_;  // guards the two below
  std::vector<Entry> entries_;
  std::size_t used_ = 0;  // entries from here on have never been taken
};

}  // namespace weft
