// The points that weft-perf's set gpu and each program that it is compared with (perftest/peers)
// measure: one list, so that all do the same, as often, and name it alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace weft::perf::gpu {

enum class What {
  kPut,        // nonblocking puts from PE 0 to PE 1, all blocks one range, then quiet
  kGet,        // the same with gets
  kPutQuiet,   // each put complete before the next
  kSignal,     // PE 0 and PE 1 set a word of the other's in turns; a round trip
  kPutSignal,  // the same with data before the word; the whole group waits
  kFetchAdd,   // PE 0 adds to a word of PE 1's, each waits for the one before
  kBarrier,    // all PEs
  kSync,
  kFcollect,  // all PEs: `bytes` of each to all
  kReduce,    // all PEs: their sum, of 64-bit integers
};
// The threads that call together; kBulk: a block with the engine for bulk copies.
enum class Group { kThread, kWarp, kBlock, kBulk };

struct KernelPoint {
  What what;
  Group group;
  unsigned blocks, threads;  // per block
  std::size_t bytes;         // 0: not a transfer
};

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
inline constexpr std::size_t kMostBytes = 32 * kMiB;
inline constexpr int kRepeats = 9;  // of which the median counts; one more warms up

inline constexpr KernelPoint kKernelPoints[] = {
    {What::kPut, Group::kBlock, 1, 1024, 64 * kKiB},
    {What::kPut, Group::kBlock, 8, 1024, 64 * kKiB},
    {What::kPut, Group::kBlock, 1, 1024, 4 * kMiB},
    {What::kPut, Group::kBlock, 8, 1024, 4 * kMiB},
    {What::kPut, Group::kBlock, 8, 1024, 32 * kMiB},
    {What::kPut, Group::kBlock, 32, 1024, 32 * kMiB},
    {What::kPut, Group::kBlock, 132, 1024, 32 * kMiB},
    {What::kGet, Group::kBlock, 1, 1024, 64 * kKiB},
    {What::kGet, Group::kBlock, 8, 1024, 64 * kKiB},
    {What::kGet, Group::kBlock, 1, 1024, 4 * kMiB},
    {What::kGet, Group::kBlock, 8, 1024, 4 * kMiB},
    {What::kGet, Group::kBlock, 8, 1024, 32 * kMiB},
    {What::kGet, Group::kBlock, 32, 1024, 32 * kMiB},
    {What::kGet, Group::kBlock, 132, 1024, 32 * kMiB},
    {What::kPut, Group::kBulk, 1, 32, 4 * kMiB},
    {What::kPut, Group::kBulk, 8, 32, 32 * kMiB},
    {What::kGet, Group::kBulk, 1, 32, 64 * kKiB},
    {What::kGet, Group::kBulk, 1, 32, 4 * kMiB},
    {What::kGet, Group::kBulk, 8, 32, 32 * kMiB},
    {What::kPutQuiet, Group::kThread, 1, 1, 16},
    {What::kPutQuiet, Group::kThread, 1, 1, 1 * kKiB},
    {What::kPutQuiet, Group::kWarp, 1, 32, 16 * kKiB},
    {What::kPutQuiet, Group::kBlock, 1, 1024, 16 * kKiB},
    {What::kPutQuiet, Group::kBlock, 8, 1024, 64 * kKiB},
    {What::kSignal, Group::kThread, 1, 1, 0},
    {What::kPutSignal, Group::kWarp, 1, 32, 16},
    {What::kPutSignal, Group::kBlock, 1, 1024, 16},
    {What::kPutSignal, Group::kBlock, 1, 1024, 512},
    {What::kPutSignal, Group::kBlock, 1, 1024, 4 * kKiB},
    {What::kFetchAdd, Group::kThread, 1, 1, 0},
    {What::kBarrier, Group::kBlock, 1, 32, 0},
    {What::kBarrier, Group::kBlock, 1, 1024, 0},
    {What::kSync, Group::kBlock, 1, 32, 0},
    {What::kSync, Group::kBlock, 1, 1024, 0},
    {What::kFcollect, Group::kBlock, 1, 1024, 64},
    {What::kFcollect, Group::kBlock, 1, 1024, 2 * kKiB},
    {What::kFcollect, Group::kBlock, 1, 1024, 4 * kKiB},
    {What::kReduce, Group::kBlock, 1, 1024, 64},
    {What::kReduce, Group::kBlock, 1, 1024, 2 * kKiB},
    {What::kReduce, Group::kBlock, 1, 1024, 4 * kKiB},
};
inline constexpr std::size_t kMostOfCollective = 4 * kKiB;
inline constexpr std::size_t kBulkStage = 64 * kKiB;  // of shared memory

inline bool is_stream(const KernelPoint& row) {
  return row.what == What::kPut || row.what == What::kGet;
}
inline bool is_pair(const KernelPoint& row) {
  return row.what == What::kSignal || row.what == What::kPutSignal;
}
inline bool takes_part(const KernelPoint& row, int pe) {
  return row.what >= What::kBarrier || pe == 0 || (is_pair(row) && pe == 1);
}
// Long enough, some milliseconds, for a kernel's launch not to count.
inline int iterations(const KernelPoint& row) {
  if (!is_stream(row)) return row.bytes > 4 * kKiB ? 2000 : 5000;
  return static_cast<int>(std::clamp<std::size_t>((kMiB * kKiB) / row.bytes, 32, 4096));
}

inline const char* name_of(What what) {
  switch (what) {
    case What::kPut: return "put";
    case What::kGet: return "get";
    case What::kPutQuiet: return "put+quiet";
    case What::kSignal: return "signal";
    case What::kPutSignal: return "put_signal";
    case What::kFetchAdd: return "fetch_add";
    case What::kBarrier: return "barrier";
    case What::kSync: return "sync";
    case What::kFcollect: return "fcollect";
    case What::kReduce: return "reduce";
  }
  return "";
}
inline std::string shape_of(const KernelPoint& row) {
  if (row.group == Group::kThread) return "thread";
  if (row.group == Group::kWarp) return "warp";
  return std::to_string(row.blocks) + " x " + std::to_string(row.threads) +
         (row.group == Group::kBulk ? " TMA" : "");
}

// A number that weft-run gives each process in its environment: WEFT_PE, WEFT_NPES.
inline int told(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Nanoseconds since `since`, which is of the system's clock, as `date +%s%N` prints it before a
// start.
inline double ns_since(long long since) {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return static_cast<double>(now.tv_sec * 1'000'000'000LL + now.tv_nsec - since);
}

// The contents of a PE's source: what arrives can be told from what was there before.
inline std::uint64_t content(int pe, std::size_t index) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(pe) + 1) * 0x9e3779b97f4a7c15u +
                              static_cast<std::uint64_t>(index) * 0xbf58476d1ce4e5b9u;
  return (mixed ^ (mixed >> 29)) | 1;  // not what is cleared
}
inline std::vector<std::uint64_t> contents(int pe, std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = content(pe, i);
  return words;
}
// The words that a row leaves where it moves data to, and the PE where they are checked (-1:
// nowhere).
inline std::vector<std::uint64_t> outcome(const KernelPoint& row, int npes) {
  std::vector<std::uint64_t> words = contents(row.what == What::kGet ? 1 % npes : 0, row.bytes);
  for (int pe = 1; row.what == What::kReduce && pe < npes; ++pe)
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += content(pe, i);
  return words;
}
inline int receiver(const KernelPoint& row, int npes) {
  if (row.bytes == 0) return -1;
  return row.what == What::kGet ? 0 : 1 % npes;
}

}  // namespace weft::perf::gpu
