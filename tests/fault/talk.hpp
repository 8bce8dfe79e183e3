// Common parts of the fault tests of networks: a job that uses all of a transport, and settings of
// the library that stands in for the network's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "src/base/status.hpp"

namespace weft {

using Word = std::uint64_t;

// A little of everything. Memory that an op has given up may still be read or written until the
// runtime is gone, so it lives as long as the PE's thread.
inline Status talk(Runtime& rt) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(npes + 2));
  ASSIGN_OR_RETURN(Word* const bulk, rt.callocate<Word>(100'000));
  const int right = (rt.pe() + 1) % rt.npes(), left = (rt.pe() + rt.npes() - 1) % rt.npes();
  thread_local std::vector<Word> mine, back;
  mine.assign(100'000, static_cast<Word>(rt.pe()) + 7);
  RETURN_IF_ERROR(ctx.put(bulk, mine.data(), mine.size(), right, set(words, 1)));
  RETURN_IF_ERROR(wait_until(ctx, words, Cmp::kEq, Word{1}));
  EXPECT_EQ(bulk[99'999], static_cast<Word>(left) + 7);
  RETURN_IF_ERROR(ctx.atomic_add(words + 1, Word{5}, 0));
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const Word sum, ctx.atomic_fetch(words + 1, 0));
  EXPECT_EQ(sum, 5 * npes);
  const Word number = static_cast<Word>(rt.pe());
  RETURN_IF_ERROR(fcollect(ctx, rt.world(), words + 2, &(words[0] = number), 1));
  for (std::size_t pe = 0; pe < npes; ++pe) EXPECT_EQ(words[2 + pe], pe);
  back.assign(100'000, 0);
  RETURN_IF_ERROR(ctx.get(back.data(), bulk, back.size(), right));
  EXPECT_EQ(back, mine);
  return rt.barrier();
}

// The options of a job that uses these transports.
inline Options options_by(const char* transports) {
  Options options;
  options.transports = transports;
  options.heap_size = std::uint64_t{64} << 20;
  options.heap_chunk = std::uint64_t{8} << 20;
  return options;
}

// For as long as it lives, and read by the library when the next job opens it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace weft
