#include "host/api/shmem/active_set.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::shmem {

namespace {

static_assert(sizeof(long) == sizeof(std::uint64_t) &&
              SHMEM_SYNC_SIZE >= static_cast<int>(Runtime::kTeamWords));

// The sets that have been used, newest last. A program has few.
struct Known {
  ActiveSet set;
  weft_shmem_team place;
};
struct Sets {
  std::mutex mutex;
  std::vector<std::unique_ptr<Known>> all;  // guarded by mutex
};
Sets& sets() {
  static Sets* const sets = new Sets;
  return *sets;
}

bool same(const ActiveSet& a, const ActiveSet& b) {
  return a.start == b.start && a.log_stride == b.log_stride && a.size == b.size;
}

Status check_set(const ActiveSet& set) {
  const std::int64_t npes = world_team.team.size;
  const bool shape = set.start >= 0 && set.log_stride >= 0 && set.log_stride < 31 && set.size >= 1;
  const std::int64_t last =
      shape ? set.start + (std::int64_t{set.size} - 1) * (std::int64_t{1} << set.log_stride) : -1;
  if (shape && last < npes) return Status::ok();
  return Status::error(
      Code::kOutOfRange,
      fmt::format(
          "there is no active set of PE_start {}, logPE_stride {}, PE_size {} in a job of {} "
          "PEs: PE_start and logPE_stride are at least 0, PE_size at least 1, and the last "
          "member, PE_start + (PE_size - 1) * 2^logPE_stride, at most {}",
          set.start, set.log_stride, set.size, npes, npes - 1));
}

Result<std::unique_ptr<Known>> make(const ActiveSet& set) {
  RETURN_IF_ERROR(check_set(set));
  Runtime& rt = default_ctx.context->runtime();
  std::vector<int> pes;
  for (int rank = 0; rank < set.size; ++rank)
    pes.push_back(set.start + rank * (1 << set.log_stride));
  auto known = std::make_unique<Known>();
  known->set = set;
  ASSIGN_OR_RETURN(const Team team, rt.team_of(pes, reinterpret_cast<std::uint64_t*>(set.psync)));
  fill(&known->place, team, rt);
  return known;
}

const weft_shmem_team* find(Sets& s, const ActiveSet& set) {
  const std::lock_guard lock(s.mutex);
  for (std::size_t i = s.all.size(); i-- > 0;)
    if (same(s.all[i]->set, set)) return &s.all[i]->place;
  return nullptr;
}

}  // namespace

Result<const weft_shmem_team*> place_of(const ActiveSet& set) {
  Sets& s = sets();
  if (const weft_shmem_team* const place = find(s, set)) return place;
  // Not under the mutex: it waits for the set's other members, and they may come to another set
  // first.
  ASSIGN_OR_RETURN(auto known, make(set));
  const std::lock_guard lock(s.mutex);
  s.all.push_back(std::move(known));
  return &s.all.back()->place;
}

void forget_active_sets() {
  Sets& s = sets();
  const std::lock_guard lock(s.mutex);
  s.all.clear();
}

}  // namespace weft::shmem
