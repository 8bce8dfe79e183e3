// The part of the PMIx interface that Weft calls, as its standard lays it down for C: a library of
// any version of 2 and later is used without its headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::pmix {

using Status = int;
constexpr Status kSuccess = 0;

struct Process {
  char name_space[256];
  std::uint32_t rank;
};
constexpr std::uint32_t kRankWildcard = UINT32_MAX - 1;

struct Value {
  std::uint16_t type;
  // The largest member of the library's own union is smaller.
  union {
    bool flag;
    std::uint32_t number;
    char* text;
    std::uint64_t room[8];
  } data;
};
constexpr std::uint16_t kBool = 1, kString = 3, kUint32 = 14;

// One at a time: the library's own are shorter, so an array of these would be misread.
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};

constexpr std::uint8_t kGlobal = 3;  // scope of a put
constexpr const char* kJobSize = "pmix.job.size";
constexpr const char* kLocalSize = "pmix.local.size";
constexpr const char* kCollectData = "pmix.collect";

struct Table {
  Status (*init)(Process* me, Info* info, std::size_t count);
  Status (*finalize)(const Info* info, std::size_t count);
  Status (*abort)(int code, const char* why, Process* processes, std::size_t count);
  Status (*put)(std::uint8_t scope, const char* key, Value* value);
  Status (*commit)();
  Status (*fence)(const Process* processes, std::size_t count, const Info* info,
                  std::size_t info_count, void (*done)(Status, void*), void* context);
  Status (*get)(const Process* process, const char* key, const Info* info, std::size_t count,
                Value** value);
  const char* (*error_text)(Status);
};

}  // namespace weft::pmix
