#include "host/context/gpu_space.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <weft/dev/team_block.hpp>

#include "host/kernel/kernel_list.hpp"
#include "host/team/blocks.hpp"
#include "src/base/log.hpp"
#include "src/base/round_up.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

// The layout of the state that kernels read, in bytes.
constexpr std::size_t kHandlesAt = sizeof(DeviceState);
constexpr std::size_t kTicketsAt =
    round_up(kHandlesAt + kMaxLanes * sizeof(DeviceContext), alignof(RingTickets));
constexpr std::size_t kAdoptedAt = kTicketsAt + kMaxLanes * sizeof(RingTickets);
constexpr std::size_t kPeersAt = kAdoptedAt + Heap::kMaxAdopted * sizeof(AdoptedRange);
static_assert(kHandlesAt % alignof(DeviceContext) == 0 && kAdoptedAt % alignof(AdoptedRange) == 0 &&
              kPeersAt % alignof(std::byte*) == 0);

}  // namespace

GpuSpace::GpuSpace(Platform& platform, int ordinal, int pe, int npes, const Options& options)
    : platform_(platform),
      ordinal_(ordinal),
      pe_(pe),
      npes_(npes),
      options_(options),
      streams_(platform) {
  options_.fault.clear();  // kernels store to mapped memory: there is nothing to inject into
}

GpuSpace::~GpuSpace() {
  if (stream_ != nullptr) platform_.destroy_stream(stream_).ignore();  // it has nothing left to do
}

Result<std::unique_ptr<GpuSpace>> GpuSpace::create(Platform& platform, int ordinal, int pe,
                                                   int npes, const Options& options) {
  std::unique_ptr<GpuSpace> space(new GpuSpace(platform, ordinal, pe, npes, options));
  RETURN_IF_ERROR(space->reserve());
  RETURN_IF_ERROR(kernel::prepare(platform));
  ASSIGN_OR_RETURN(space->stream_, platform.create_stream());
  constexpr std::size_t kCallsAtATime = 4;  // more are rare, and make streams of their own
  RETURN_IF_ERROR(space->streams_.prepare(kCallsAtATime));
  return space;
}

// Peers' heaps are mapped at equal distances, so that kernels need no table to find them; unless
// there are so many PEs that no address space is left for that, or the driver maps where it likes.
Status GpuSpace::reserve() {
  const HeapShape shape = shape_of_heap();
  if (!platform_.maps_where_told()) {
    ASSIGN_OR_RETURN(heap_, Heap::create(platform_, shape));
    return Status::ok();
  }
  const std::size_t each = Heap::space_of(platform_, shape);
  std::size_t all = 0;
  const bool countable = !__builtin_mul_overflow(each, static_cast<std::size_t>(npes_), &all);
  auto places = countable ? platform_.reserve(all) : Result<Memory>(Memory());
  if (!places || places->base() == nullptr) {
    LOG(kInfo, "memory", "PEs' GPU memory is mapped by a table: {}", places.status().text());
    ASSIGN_OR_RETURN(heap_, Heap::create(platform_, shape));
    return Status::ok();
  }
  places_ = std::move(places).value();
  std::byte* const mine = places_.base() + static_cast<std::size_t>(pe_) * each;
  heap_ = Heap::create_in(Memory({mine, each}, places_.owner()), platform_, shape);
  return Status::ok();
}

// Where the heap is memory from the beginning, the default of its size is not meant.
HeapShape GpuSpace::shape_of_heap() const {
  constexpr std::size_t kTakenAtOnce = std::size_t{1} << 30;
  HeapShape shape = gpu_heap(options_);
  const bool is_default = shape.bytes == gpu_heap(Options()).bytes;
  if (is_default && !platform_.maps_where_told()) shape.bytes = kTakenAtOnce;
  return shape;
}

Status GpuSpace::count_sharers(Bootstrap& bootstrap) {
  ASSIGN_OR_RETURN(const std::vector<Blob> gpus, bootstrap.allgather(platform_.identity()));
  std::map<std::string, int> sharers;
  for (const Blob& gpu : gpus)
    sharers_ =
        std::max(sharers_, ++sharers[{reinterpret_cast<const char*>(gpu.data()), gpu.size()}]);
  return Status::ok();
}

Status GpuSpace::connect(Bootstrap& bootstrap, const std::vector<Facts>& facts,
                         std::function<Status()> before_growth) {
  TransportEnv env;
  env.pe = pe_;
  env.npes = npes_;
  env.platform = &platform_;
  env.heap = heap_->space();
  env.options = &options_;
  env.size_option = "WEFT_GPU_HEAP_SIZE";
  env.is_gpu = true;
  env.facts = &facts;
  env.places = places_;
  env.adopted_at = heap_->range().bytes;
  RETURN_IF_ERROR(count_sharers(bootstrap));
  ASSIGN_OR_RETURN(auto transports, make_transports(env));
  ASSIGN_OR_RETURN(routes_, connect_routes(std::move(transports), bootstrap));
  heap_->on_growth([this, &bootstrap, before = std::move(before_growth)](
                       std::uint64_t offset, const Result<Memory>& chunk) -> Status {
    RETURN_IF_ERROR(before());
    return grow(bootstrap, offset, chunk);
  });
  return Status::ok();
}

Status GpuSpace::grow(Bootstrap& bootstrap, std::uint64_t offset, const Result<Memory>& chunk) {
  const bool adopts = offset >= heap_->range().bytes;
  const std::string what =
      adopts ? std::string("adopting GPU memory")
             : fmt::format("growing the {} at offset {:#x}", heap_->name(), offset);
  return attach_growth(routes_, bootstrap, what, offset, chunk,
                       adopts ? &places_of_adopted_ : nullptr);
}

Status GpuSpace::lay_out() {
  ASSIGN_OR_RETURN(teams_, allocate_team_blocks(*heap_, npes_, static_cast<int>(options_.max_teams),
                                                team_packed_bytes(npes_)));
  const auto count = static_cast<std::size_t>(teams_.count);
  const auto npes = static_cast<std::size_t>(npes_);
  ASSIGN_OR_RETURN(void* const words, heap_->allocate(count * kernel::kBytesOfGrid, kCacheLine));
  grid_words_ = static_cast<std::byte*>(words);
  RETURN_IF_ERROR(zero({grid_words_, count * kernel::kBytesOfGrid}));
  ASSIGN_OR_RETURN(void* const module_state,
                   heap_->allocate(kPeersAt + npes * sizeof(std::byte*), alignof(RingTickets)));
  module_state_ = static_cast<std::byte*>(module_state);
  ASSIGN_OR_RETURN(lists_, platform_.host_visible(count * npes * sizeof(std::int32_t)));
  ASSIGN_OR_RETURN(answer_, platform_.host_visible(sizeof(std::uint64_t)));
  return Status::ok();
}

// Memory of this GPU, zeroed, for its kernels alone.
Result<Memory> GpuSpace::memory_for(std::size_t bytes) const {
  const std::size_t whole = round_up(bytes, platform_.granularity());
  ASSIGN_OR_RETURN(Memory place, platform_.reserve(whole));
  ASSIGN_OR_RETURN(Memory memory, platform_.commit({place.base(), whole}, {}));
  RETURN_IF_ERROR(zero(memory.range()));
  return memory;
}

std::int32_t* GpuSpace::team_list(int id) const {
  return reinterpret_cast<std::int32_t*>(lists_.base()) + std::ptrdiff_t{id} * npes_;
}

std::byte* GpuSpace::grid_words(int id) const {
  return grid_words_ + static_cast<std::size_t>(id) * kernel::kBytesOfGrid;
}

Status GpuSpace::reset_team(int id) {
  std::byte* const block = heap_->range().base + team_block_offset(teams_, id);
  RETURN_IF_ERROR(platform_.zero({block, teams_.stride}, stream_));
  RETURN_IF_ERROR(platform_.zero({grid_words(id), kernel::kBytesOfGrid}, stream_));
  return platform_.synchronize(stream_);
}

Status GpuSpace::publish(DeviceState state) {
  std::byte* const peers = module_state_ + kPeersAt;
  state.heap = heap_->range().base;
  state.heap_bytes = heap_->range().bytes;
  state.peer = reinterpret_cast<std::byte* const*>(peers);
  state.adopted = reinterpret_cast<const AdoptedRange*>(module_state_ + kAdoptedAt);
  state.adopted_count = heap_->adopted().size();
  RETURN_IF_ERROR(copy(peers, routes_.peer.data(), routes_.peer.size() * sizeof(std::byte*)));
  return copy(module_state_, &state, sizeof(state));
}

// By a copy on a stream on which no kernel waits.
Status GpuSpace::end_waits() {
  auto* const state = reinterpret_cast<DeviceState*>(module_state_);
  return copy(&state->deadline_ns, &kJobHasEnded, sizeof(kJobHasEnded));
}

// Words that only kernels touch lie in their memory, which is a microsecond nearer.
Status GpuSpace::publish_ring(int lane, const RingView& ring) {
  auto* const state = reinterpret_cast<DeviceState*>(module_state_);
  RingView own = ring;
  own.tickets = reinterpret_cast<RingTickets*>(module_state_ + kTicketsAt) + lane;
  RETURN_IF_ERROR(copy(own.tickets, ring.tickets, sizeof(RingTickets)));
  Memory& busy = results_busy_[static_cast<std::size_t>(lane)];
  ASSIGN_OR_RETURN(busy, memory_for(ring.capacity * sizeof(*ring.results_busy)));
  own.results_busy = reinterpret_cast<std::uint32_t*>(busy.base());
  return copy(&state->ring[lane], &own, sizeof(own));
}

DeviceContext GpuSpace::handle() const {
  DeviceContext handle;
  handle.heap = heap_->range().base;
  handle.peer = reinterpret_cast<std::byte* const*>(module_state_ + kPeersAt);
  handle.state = reinterpret_cast<const DeviceState*>(module_state_);
  handle.heap_bytes = heap_->range().bytes;
  handle.teams = teams_;
  if (places_.base() != nullptr && maps_all()) {
    handle.plain_bytes = handle.heap_bytes;
    handle.to_first = places_.base() - handle.heap;
    handle.stride = heap_->space().bytes;
  }
  return handle;
}

const DeviceContext* GpuSpace::shown(int lane) const {
  return reinterpret_cast<const DeviceContext*>(module_state_ + kHandlesAt) + lane;
}

Status GpuSpace::show(const DeviceContext& handle) {
  return copy(const_cast<DeviceContext*>(shown(handle.lane)), &handle, sizeof(handle));
}

// --- adopted memory ------------------------------------------------------------------------------

Status GpuSpace::adopt(Range own) {
  const std::size_t bytes = static_cast<std::size_t>(npes_) * sizeof(std::byte*);
  ASSIGN_OR_RETURN(void* const table, heap_->allocate(bytes, alignof(std::byte*)));
  Status adopted = heap_->adopt(own, static_cast<std::byte* const*>(table));
  if (!adopted.is_ok()) {
    RETURN_IF_ERROR(heap_->free(table));
    return adopted;
  }
  const AdoptedRange& range = *heap_->piece_of(own.base, own.bytes);
  Piece& piece = pieces_[index_of(range)];
  piece = {std::move(places_of_adopted_), table, 1};
  RETURN_IF_ERROR(copy(table, piece.places.data(), bytes));
  return show_adopted(range);
}

void GpuSpace::adopt_again(const AdoptedRange& range) { ++pieces_[index_of(range)].holders; }

Status GpuSpace::disown(const AdoptedRange& range) {
  Piece& piece = pieces_[index_of(range)];
  if (--piece.holders > 0) return Status::ok();
  const std::uint64_t offset = range.offset;
  heap_->disown(range);
  Status shown = show_adopted(range);
  detach_chunk(routes_, offset);
  Status freed = heap_->free(std::exchange(piece.table, nullptr));
  return shown.is_ok() ? freed : shown;
}

Status GpuSpace::retire(std::uint64_t offset) {
  for (const AdoptedRange& range : heap_->adopted()) {
    if (range.bytes == 0 || range.offset != offset) continue;
    pieces_[index_of(range)].holders = 1;
    return disown(range);
  }
  return Status::ok();
}

// The range is there before it is counted; kernels that are running find it or not.
Status GpuSpace::show_adopted(const AdoptedRange& range) const {
  auto* const ranges = reinterpret_cast<AdoptedRange*>(module_state_ + kAdoptedAt);
  RETURN_IF_ERROR(copy(ranges + index_of(range), &range, sizeof(range)));
  const std::uint64_t count = heap_->adopted().size();
  return copy(&reinterpret_cast<DeviceState*>(module_state_)->adopted_count, &count, sizeof(count));
}

Status GpuSpace::copy(void* dst, const void* src, std::size_t bytes) const {
  RETURN_IF_ERROR(platform_.copy(dst, src, bytes, stream_));
  return platform_.synchronize(stream_);
}

Status GpuSpace::zero(Range mine) const {
  RETURN_IF_ERROR(platform_.zero(mine, stream_));
  return platform_.synchronize(stream_);
}

Result<std::uint64_t> GpuSpace::amo(const kernel::AmoKernel& amo) const {
  const std::lock_guard lock(answer_mutex_);
  kernel::AmoKernel answering = amo;
  answering.result = reinterpret_cast<std::uint64_t*>(answer_.base());
  RETURN_IF_ERROR(kernel::launch(platform_, 1, 1, answering, stream_));
  RETURN_IF_ERROR(platform_.synchronize(stream_));
  return *answering.result;
}

std::byte* GpuSpace::there(const void* symmetric, int pe) const {
  const auto to = static_cast<std::size_t>(pe);
  const std::uint64_t offset = heap_->try_offset(symmetric, 0);
  std::byte* const heap = routes_.peer[to];
  if (offset == Heap::kNoOffset || heap == nullptr) return nullptr;
  const AdoptedRange* const range =
      offset < heap_->range().bytes ? nullptr : heap_->piece_of(symmetric, 0);
  if (range == nullptr) return heap + offset;
  return pieces_[index_of(*range)].places[to] + (offset - range->offset);
}

}  // namespace weft
