// How a PE joins a job, and how it leaves.
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/dev/journal.hpp>
#include <weft/dev/team_block.hpp>

#include "host/context/impl.hpp"
#include "host/runtime/agreement.hpp"
#include "host/runtime/defaults.hpp"
#include "host/runtime/impl.hpp"
#include "host/team/blocks.hpp"
#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/process.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr int kNodeId = kWorldId + 1, kSharedId = kWorldId + 2, kFirstUserId = kWorldId + 3;

Blob bytes_of_text(std::string_view text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return Blob(raw, raw + text.size());
}
std::string text_of(const Blob& blob) {
  return std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
}

}  // namespace

Result<Runtime> Runtime::Impl::create(Result<std::unique_ptr<Bootstrap>> bootstrap,
                                      const Options& options) {
  if (!bootstrap) return report(bootstrap.status());
  auto impl = std::make_unique<Impl>(options);
  Status status = impl->start(std::move(bootstrap).value());
  if (!status.is_ok()) return report(std::move(status));
  return Runtime(std::move(impl));
}

Runtime::Impl::Impl(const Options& options) : job(std::make_shared<Job>()) {
  job->options = options;
}

Status Runtime::Impl::start(std::unique_ptr<Bootstrap> bootstrap) {
  job->pe = bootstrap->pe();
  job->npes = bootstrap->npes();
  job->bootstrap = std::move(bootstrap);
  set_log_pe(job->pe);
  RETURN_IF_ERROR(meet());
  const std::vector<Facts>& facts = job->facts;
  RETURN_IF_ERROR(connect());
  RETURN_IF_ERROR(lay_out_heap());
  RETURN_IF_ERROR(start_gpu(facts));
  RETURN_IF_ERROR(make_contexts());
  RETURN_IF_ERROR(make_first_teams(facts));
  RETURN_IF_ERROR(compare_maps());
  wired = true;
  LOG(kInfo, "runtime", "PE {} of {} is ready on {}", job->pe, job->npes,
      facts[static_cast<std::size_t>(job->pe)].host_name());
  return Status::ok();
}

// The first exchange: what must be alike, who failed already, where everybody runs.
Status Runtime::Impl::meet() {
  Facts mine;
  const Status prepared = prepare(&mine);
  const Blob parts[] = {bytes_of_text(agreement_of(job->options)), encode(prepared),
                        bytes_of_value(mine), bytes_of_value(random_uuid())};
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather(pack(parts)));

  std::vector<std::vector<Blob>> unpacked;
  std::vector<std::string> agreements;
  for (const Blob& blob : all) {
    ASSIGN_OR_RETURN(std::vector<Blob> theirs, unpack(blob));
    agreements.push_back(theirs.empty() ? "" : text_of(theirs[0]));
    theirs.resize(std::size(parts));
    unpacked.push_back(std::move(theirs));
  }
  RETURN_IF_ERROR(check_agreement(agreements));
  RETURN_IF_ERROR(prepared);
  std::vector<Facts>& facts = job->facts;
  for (std::size_t pe = 0; pe < unpacked.size(); ++pe) {
    RETURN_IF_ERROR(decode(unpacked[pe][1], static_cast<int>(pe), "starting"));
    ASSIGN_OR_RETURN(Facts theirs, value_of<Facts>(unpacked[pe][2], pe, "facts"));
    facts.push_back(theirs);
  }
  shrink_defaults(job->options, facts);
  ASSIGN_OR_RETURN(const Uuid name, value_of<Uuid>(unpacked[0][3], 0, "a job's name"));
  reclamation = DeferredReclamation::of(name);
  job->remains = reclamation;
  const auto neighbours = std::count_if(
      facts.begin(), facts.end(), [&](const Facts& theirs) { return same_machine(theirs, mine); });
  job->crowded = neighbours > mine.cores;
  return Status::ok();
}

Status Runtime::Impl::prepare(Facts* mine) {
  ASSIGN_OR_RETURN(*mine, discover());
  mine->part = part_of_machine(job->options.pretend_hosts, job->pe, job->npes);
  return find_gpus(mine, false);
}

// My heap, and what carries operations to the others'.
Result<std::vector<std::unique_ptr<Transport>>> Runtime::Impl::open_heap() {
  job->platform = &cpu_platform();
  ASSIGN_OR_RETURN(job->heap, Heap::create(*job->platform, host_heap(job->options)));
  TransportEnv env;
  env.pe = job->pe;
  env.npes = job->npes;
  env.platform = job->platform;
  env.heap = job->heap->space();
  env.options = &job->options;
  env.adopted_at = job->heap->range().bytes;
  env.facts = &job->facts;
  return make_transports(env);
}

Status Runtime::Impl::connect() {
  ASSIGN_OR_RETURN(job->routes, connect_routes(open_heap(), *job->bootstrap));
  job->heap->on_growth(
      [this](std::uint64_t offset, const Result<Memory>& chunk) { return grow(offset, chunk); });
  return job->start_progress();
}

Status Runtime::Impl::grow(std::uint64_t offset, const Result<Memory>& chunk) {
  if (wired) RETURN_IF_ERROR(sync_all());
  const bool adopts = offset >= job->heap->range().bytes;
  const std::string what = fmt::format(
      "{} at offset {:#x}", adopts ? "adopting memory" : "growing the symmetric heap", offset);
  return attach_growth(job->routes, *job->bootstrap, what, offset, chunk);
}

// The first things in every heap: the teams' blocks, the words that teams are made with, and the
// journal. All zero, as a new heap is.
Status Runtime::Impl::lay_out_heap() {
  const int max_teams = static_cast<int>(job->options.max_teams);
  ASSIGN_OR_RETURN(job->teams, allocate_team_blocks(*job->heap, job->npes, max_teams));
  const std::size_t words = static_cast<std::size_t>(max_teams) * words_of_parent(max_teams);
  ASSIGN_OR_RETURN(void* const memory, job->heap->allocate(words * sizeof(std::uint64_t), 0));
  id_words = static_cast<std::uint64_t*>(memory);
  if (!job->options.check) return Status::ok();
  ASSIGN_OR_RETURN(void* const journal, job->heap->allocate(dev::kJournalBytes, 0));
  ASSIGN_OR_RETURN(const Offset at, job->heap->offset_of(journal, dev::kJournalBytes));
  job->journal_offset = to_u64(at);
  return Status::ok();
}

Status Runtime::Impl::make_contexts() {
  ASSIGN_OR_RETURN(context, new_context(job->options.check));
  ASSIGN_OR_RETURN(own, new_context(false));
  own->share();
  return Status::ok();
}

Status Runtime::Impl::make_first_teams(const std::vector<Facts>& facts) {
  const int max_teams = static_cast<int>(job->options.max_teams);
  ids.emplace(max_teams);
  teams.assign(static_cast<std::size_t>(max_teams) + 1, Team{});
  for (int id = 0; id < kFirstUserId; ++id) ids->take(id);
  const Facts& mine = facts[static_cast<std::size_t>(job->pe)];
  Pes all, neighbours, mapped;
  for (int pe = 0; pe < job->npes; ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    all.push_back(pe);
    if (same_host(facts[index], mine)) neighbours.push_back(pe);
    if (pe == job->pe || job->routes.peer[index] != nullptr) mapped.push_back(pe);
  }
  world = enter_team(kWorldId, all);
  node = enter_team(kNodeId, neighbours);
  shared = enter_team(kSharedId, mapped);
  everybody = enter_team(max_teams, all);
  return Status::ok();
}

Result<Context> Runtime::Impl::new_context(bool checks) {
  ASSIGN_OR_RETURN(const int lane, job->take_lane());
  return Context(std::make_unique<Context::Impl>(job, lane, checks));
}

Status Runtime::Impl::sync_all() { return sync(*own, everybody); }

// The last exchange of the start, so that all are ready when it is over. In caches, a line that the
// receiver reads is fetched once; one that is written into its slot is fetched by the sender first,
// and then by it. A second exchange of flags is worth that from some blocks' size on.
Status Runtime::Impl::compare_maps() {
  constexpr std::uint64_t kPushedBytes = 512;
  struct Reach {
    std::uint8_t maps_all, maps_host, crowded;
  };
  const auto& peer = job->routes.peer;
  bool maps_host = true;
  for (int rank = 0; rank < node.size; ++rank) {
    const int pe = node.pe_of(rank);
    maps_host = maps_host && (pe == job->pe || peer[static_cast<std::size_t>(pe)] != nullptr);
  }
  const Reach mine{shared.size == job->npes, maps_host, job->crowded};
  ASSIGN_OR_RETURN(const std::vector<Blob> all, job->bootstrap->allgather(bytes_of_value(mine)));
  bool map_all = true, map_hosts = true, crowded = false;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(const Reach theirs, value_of<Reach>(all[pe], pe, "maps"));
    map_all = map_all && theirs.maps_all != 0;
    map_hosts = map_hosts && theirs.maps_host != 0;
    crowded = crowded || theirs.crowded != 0;
  }
  // Where waiting is a turn of the scheduler, one exchange is worth more than bytes that cross
  // once: only what fits into no slot is read, since then pushing takes two as well.
  const auto slot = static_cast<std::uint64_t>(job->teams.slot_bytes) - kSlotHeader;
  if (map_hosts) look_at_hosts();
  if (map_all && job->host_of.empty()) job->teams.pushed_bytes = crowded ? slot : kPushedBytes;
  return Status::ok();
}

// All PEs come to the same, and each host's map one another.
void Runtime::Impl::look_at_hosts() {
  std::vector<int> host_of = hosts_of(job->facts);
  const std::set<int> hosts(host_of.begin(), host_of.end());
  if (hosts.size() == 1 || hosts.size() == host_of.size()) return;
  LOG(kInfo, "runtime", "{} PEs on {} hosts: what collectives have for all crosses to a host once",
      host_of.size(), hosts.size());
  job->host_of = std::move(host_of);
  for (const Team& team : {world, node, shared, everybody}) tell_hosts(team);
}

Status Runtime::Impl::usable() { return job->health(); }

// --- the end -------------------------------------------------------------------------------------

Runtime::Impl::~Impl() { finish(); }

void Runtime::Impl::destroy(std::unique_ptr<Impl> impl) {
  if (impl != nullptr && impl->job->is_inherited()) keep_for_parent(std::move(impl));
}

// Afterwards all that was outstanding is complete, and everybody is here.
Status Runtime::Impl::complete() {
  RETURN_IF_ERROR(in_step());
  job->queued->wait([this] { return job->health().is_ok(); });
  RETURN_IF_ERROR(job->health());
  RETURN_IF_ERROR(context->quiet());
  return sync_all();
}

namespace {

// Set by whichever thread's wait ran into its deadline; nothing else is read by it.
bool is_broken(const Job& job, const Team& team) {
  const std::byte* const block = job.heap->range().base + team_block_offset(job.teams, team.id);
  return __atomic_load_n(&reinterpret_cast<const TeamHeader*>(block)->broken, __ATOMIC_RELAXED) !=
         0;
}

}  // namespace

// A collective of all PEs that ran into its deadline here: the next would do so, too, and those who
// wait for this PE must hear that it is gone.
Status Runtime::Impl::in_step() const {
  RETURN_IF_ERROR(job->health());
  if (!is_broken(*job, world) && !is_broken(*job, everybody)) return Status::ok();
  return Status::error(Code::kTimeout, "a collective of all PEs failed earlier");
}

// In order: all is complete, kernels' operations are through, everybody has left; then memory goes.
// Out of order: nobody waits, and my heap stays for those who may still write to it.
void Runtime::Impl::finish() {
  Status status = wired ? complete() : Status::ok();
  for (Context::Impl* left : job->contexts()) {
    const bool mine = (context && left == &context->impl()) || (own && left == &own->impl());
    if (!status.is_ok()) left->fail(status);  // so that its end does not wait
    if (mine) continue;
    LOG(kWarn, "runtime", "the context of lane {} outlives its runtime; destroy it first",
        left->lane);
    left->fail(Status::error(Code::kInvalidArgument,
                             fmt::format("the runtime of this context, PE {}, is gone; destroy "
                                         "contexts before their runtime",
                                         job->pe)));
  }
  context.reset();
  own.reset();
  job->stop_proxy();
  if (job->bootstrap != nullptr && status.is_ok()) status = job->bootstrap->leave();
  if (!status.is_ok() && reclamation != nullptr) {
    LOG(kInfo, "runtime", "PE {} leaves a job that did not end in order: {}", job->pe,
        status.text());
    reclamation->defer(job);
  }
  job->close();
}

}  // namespace weft
