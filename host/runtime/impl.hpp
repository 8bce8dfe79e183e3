// Runtime::Impl: builds a PE's share of a job and owns it. No globals.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/runtime.hpp>

#include "host/context/job.hpp"
#include "host/runtime/deferred_reclamation.hpp"
#include "host/team/ids.hpp"
#include "host/team/members.hpp"
#include "host/topology/facts.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {

struct Runtime::Impl {
  explicit Impl(const Options& options);
  ~Impl();
  // In a child of fork() it stays as it is: the parent is the PE.
  static void destroy(std::unique_ptr<Impl> impl);

  // Collective. `bootstrap` may be a failure, which is then the result.
  static Result<Runtime> create(Result<std::unique_ptr<Bootstrap>> bootstrap,
                                const Options& options);

  // One PE of run_local(); `note` hears of a failure before the others do.
  static Status run_pe(std::unique_ptr<Bootstrap> bootstrap, const Options& options,
                       const std::function<Status(Runtime&)>& body,
                       const std::function<void(const Status&)>& note);

  // --- start (create.cpp) ---
  Status start(std::unique_ptr<Bootstrap> bootstrap);
  Status meet();
  Status prepare(Facts* mine);  // what needs no other PE
  Result<std::vector<std::unique_ptr<Transport>>> open_heap();
  Status connect();
  Status grow(std::uint64_t offset, const Result<Memory>& chunk);
  Status lay_out_heap();
  Status make_contexts();
  Status make_first_teams(const std::vector<Facts>& facts);
  Status compare_maps();
  void look_at_hosts();
  void finish();
  Status complete();
  Status in_step() const;

  // --- GPU memory (gpu.cpp) ---
  std::vector<gpu::Library> drivers(bool asks_all) const;
  Status find_gpus(Facts* mine, bool asks_all);
  Result<int> choose_gpu(const std::vector<Facts>& facts) const;
  Status open_gpu(const std::vector<Facts>& facts);
  Status agree_to_pack();
  Status join_gpus(const std::vector<Facts>& facts);
  Status start_gpu(const std::vector<Facts>& facts);
  // For a program that creates the runtime before it first uses a GPU. Collective; once.
  Status look_for_gpus_again();
  Status look_if_some_driver_is_loaded();
  Status join_late();
  const char* why_on_host() const;

  // --- allocation (allocate.cpp) ---
  Result<void*> allocate(const char* routine, std::size_t bytes, std::size_t align,
                         MemoryKind kind = MemoryKind::kHost);
  Status free(void* memory);
  // WEFT_CHECK: every PE made the same call with the same values.
  Status check_same(const char* routine, std::string values);
  // The same, whether WEFT_CHECK is set or not.
  Status compare(const char* routine, std::string values);
  // Memory of a program's own (adopt.cpp).
  Status adopt(const std::vector<OwnMemory>& pieces);
  Status disown(const std::vector<OwnMemory>& pieces);
  std::string describe(const OwnMemory& piece, bool on_gpu) const;
  bool is_gpu_memory(const OwnMemory& piece) const;
  Status retire_freed(const std::vector<OwnMemory>& pieces);
  Status adopt_one(const OwnMemory& piece);
  Status disown_one(const OwnMemory& piece);
  Status for_pieces(const char* routine, const char* doing, const std::vector<OwnMemory>& pieces,
                    std::string values, Status (Impl::*one)(const OwnMemory&));

  // --- teams (teams.cpp): no lock is held while other PEs are waited for ---
  Result<Team> make_team(const char* routine, const Team& parent, const Pes& pes,
                         std::uint64_t arguments);
  // Each team has so many words for splits of it.
  static std::size_t words_of_parent(int max_teams) { return 2 * (IdMask::words(max_teams) + 2); }
  Result<int> lowest_of_parent(const char* routine, const Team& parent, std::uint64_t arguments,
                               const TeamIds::Bits& mine);
  // The callers agree on an id, members make their blocks ready, and all end alike. `of_whom` and
  // `limit` are for the text that says that there is no id.
  Result<Team> make_together(const char* routine, TeamIds::Key key, const Pes& pes,
                             const TeamIds::LowestOfAll& lowest_of_all, const std::string& of_whom,
                             const std::string& limit);
  Team enter_team(int id, const Pes& pes);
  Result<Team> enter_new_team(int id, const Pes& pes);
  std::int32_t* list_of(int id) const;
  void tell_hosts(const Team& team);
  // Without a parent (team_of.cpp): through the first of `pes`, in `words` of its heap.
  Result<Team> make_among(std::uint64_t* words, const Pes& pes);
  void forget_team(const Team& team);
  Status check_team(const char* routine, const Team& team);

  // A sync of all PEs, on the runtime's own team and context: never in the way of the user's.
  Status sync_all();
  Status usable();
  Result<Context> new_context(bool checks);

  std::shared_ptr<Job> job;
  std::shared_ptr<DeferredReclamation> reclamation;
  // One call of the whole job at a time (memory, adoption), for as long as it takes: all PEs make
  // those in the same order.
  std::mutex job_calls;
  // In a child of fork() it may be held by a thread of the parent; the call is refused there
  // anyway.
  [[nodiscard]] std::unique_lock<std::mutex> take_job_calls() {
    return job->is_inherited() ? std::unique_lock<std::mutex>() : std::unique_lock(job_calls);
  }
  std::uint64_t collective_calls = 0;   // guarded by job_calls
  Team world, node, shared, everybody;  // everybody: the runtime's own, like world
  std::optional<TeamIds> ids;
  std::mutex teams_mutex;
  std::vector<Team> teams;            // mine, by id; guarded by teams_mutex
  std::uint64_t* id_words = nullptr;  // symmetric: what make_team exchanges, for each parent
  std::optional<Context> context;     // the user's default
  std::optional<Context> own;         // the runtime's; threads share it
  bool wired = false;                 // sync_all() can work
  gpu::Library gpu_driver;            // of the GPU that this PE takes, if it takes one
  bool has_looked_again = false;      // for GPUs; guarded by job_calls, as is the next
  std::string why_host_memory;        // there is none on GPUs; "" until one has looked again
};

}  // namespace weft
