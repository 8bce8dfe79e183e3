#include "host/context/job.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <set>
#include <thread>

#include <fmt/format.h>

#include <weft/dev/journal.hpp>

#include "host/context/impl.hpp"
#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/last_calls.hpp"

namespace weft {
namespace {

// The jobs of this process.
struct Jobs {
  std::mutex mutex;
  std::set<Job*> live;  // guarded by mutex
};
Jobs& jobs() {
  static auto* const one = new Jobs;  // outlives every static Runtime
  return *one;
}

}  // namespace

// --- fork ----------------------------------------------------------------------------------------

void Job::lock_for_fork() { jobs().mutex.lock(); }
void Job::unlock_after_fork() { jobs().mutex.unlock(); }

// In a child: heaps are shared with it, so what contexts do without a transport must end, too. No
// other lock is taken: its holder may be a thread of the parent.
void Job::leave_to_parent() {
  for (Job* const job : jobs().live) {
    job->ended_.store(true, std::memory_order_relaxed);
    for (Context::Impl* const context : job->contexts_)
      if (context != nullptr) context->close_direct_way();
  }
  jobs().live.clear();
  jobs().mutex.unlock();
}

Job::Job() {
  static const int registered = ::pthread_atfork(lock_for_fork, unlock_after_fork, leave_to_parent);
  static_cast<void>(registered);
  const std::lock_guard lock(jobs().mutex);
  jobs().live.insert(this);
}

Job::~Job() {
  {
    const std::lock_guard lock(jobs().mutex);
    jobs().live.erase(this);
  }
  stop_proxy();
}

// --- the job's end -------------------------------------------------------------------------------

Status Job::start_progress() {
  const bool needed = std::any_of(routes.transports.begin(), routes.transports.end(),
                                  [](const auto& each) { return each->caps().needs_progress; });
  if (!needed) return Status::ok();
  const std::lock_guard lock(device_mutex_);
  return make_proxy();
}

Status Job::why_not_in_child() const {
  const std::string_view caller = caller_or("");
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}{}this process is a child of fork(), and PE {} is its parent, process {}: a "
                  "child has no part in the job. Let the parent make the call; a child may exec() "
                  "another program, or end",
                  caller, caller.empty() ? "" : ": ", pe, process_.pid()));
}

Status Job::health() {
  if (is_inherited()) return why_not_in_child();
  if (!has_ended()) {
    Status status = bootstrap->health();
    if (status.is_ok()) return status;
    const std::lock_guard lock(mutex_);
    if (end_.is_ok()) end_ = std::move(status);
    ended_.store(true, std::memory_order_release);  // pairs with the acquire in has_ended
  }
  const std::lock_guard lock(mutex_);
  return end_;
}

void Job::close() {
  const std::lock_guard lock(mutex_);
  if (end_.is_ok())
    end_ = Status::error(
        Code::kInvalidArgument,
        fmt::format("the runtime of PE {} is gone; destroy its contexts before it", pe));
  ended_.store(true, std::memory_order_release);  // pairs with the acquire in has_ended
  bootstrap.reset();
}

// --- the device side -----------------------------------------------------------------------------

Status Job::make_proxy() {
  if (proxy_ != nullptr) return Status::ok();
  Proxy::Config config;
  config.platform = gpu == nullptr ? platform : &gpu->platform();
  config.routes = &routes;
  config.ring_routes = gpu == nullptr ? &routes : &gpu->routes();
  config.options = &options;
  config.pe = pe;
  config.heap_bytes = gpu == nullptr ? heap->range().bytes : gpu->heap().range().bytes;
  if (gpu == nullptr)
    config.last_writer = [this](std::uint64_t offset) { return last_writer(offset); };
  if (options.wait_action == "abort")
    config.on_failure = [this](const Status& failure) { bootstrap->abort(1, failure.text()); };
  if (waits_on() && options.wait_limit != 0)
    config.on_failure = [this](const Status& failure) {
      if (failure.is(Code::kTimeout)) bootstrap->abort(1, failure.text());
    };
  if (gpu != nullptr) {
    const auto read = [this](const std::uint64_t* word) -> Result<std::uint64_t> {
      std::uint64_t value = 0;
      RETURN_IF_ERROR(gpu->copy(&value, word, sizeof(value)));
      return value;
    };
    const auto write = [this](std::uint64_t* word, std::uint64_t value) {
      return gpu->copy(word, &value, sizeof(value));
    };
    ASSIGN_OR_RETURN(stream_waits,
                     StreamWaits::create(gpu->platform(), stream_deadline_ns(), read, write));
  }
  config.look_further = [this](std::uint64_t now_ns) { return look_further(now_ns); };
  config.end = [this] { return has_ended() ? health() : Status::ok(); };
  ASSIGN_OR_RETURN(proxy_, Proxy::create(std::move(config)));
  Status started = proxy_->start();
  if (!started.is_ok()) proxy_.reset();
  if (proxy_ != nullptr)  // one that takes another's place drives what that drove
    for (Context::Impl* live : contexts()) proxy_->drive(&live->queue);
  return started;
}

// By the proxy's thread. Waits in kernels and on streams end with the job, which only host threads
// can notice.
Status Job::look_further(std::uint64_t now_ns) {
  constexpr std::uint64_t kBetweenLooks = 100'000'000;
  if (now_ns - looked_ns_ >= kBetweenLooks) {
    looked_ns_ = now_ns;
    const Status end = health();
    if (!end.is_ok() && !has_lost_gpu()) {
      end_waits();
      if (stream_waits != nullptr) return stream_waits->end_waits(end);
    }
  }
  if (stream_waits == nullptr) return Status::ok();
  Status late = stream_waits->look(now_ns);
  if (late.is_ok() || !waits_on() || options.wait_limit != 0) return late;
  LOG(kWarn, "proxy", "{}", late.text());
  return Status::ok();
}

// Nothing waits there any more.
bool Job::has_lost_gpu() const {
  return gpu != nullptr && (gpu::is_failure_known() || gpu->platform().was_reset());
}

// The proxy is gone, and a stream may come to further waits: none lasts, so neither does this.
void Job::end_stream_waits() {
  constexpr double kAtMost = 1;  // s
  const Deadline deadline(kAtMost);
  while (stream_waits->any_left() && !deadline.expired()) {
    stream_waits->end_waits(health()).ignore();  // said by whoever asks for the job's health
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Acquire: pairs with the release in make_device_state; the state is there.
void Job::end_waits() {
  Shown shown = Shown::kState;
  if (!shown_to_kernels_.compare_exchange_strong(shown, Shown::kEnd, std::memory_order_acquire))
    return;
  if (gpu == nullptr) {
    // Relaxed: it orders nothing, as the load in deadline_of.
    __atomic_store_n(&device_state_->deadline_ns, kJobHasEnded, __ATOMIC_RELAXED);
    return;
  }
  const Status ended = gpu->end_waits();
  if (!ended.is_ok())
    LOG(kWarn, "runtime", "kernels cannot be told that the job has ended: {}", ended.text());
}

std::uint64_t Job::stream_deadline_ns() const {
  return waits_on() && options.wait_limit != 0
             ? static_cast<std::uint64_t>(options.wait_limit * 1e9)
             : deadline_ns();
}

std::uint64_t Job::deadline_ns() const {
  return static_cast<std::uint64_t>(options.wait_timeout * 1e9);
}

DeviceState Job::common_state() const {
  DeviceState state;
  state.pe = pe;
  state.npes = npes;
  state.trap_on_fault = options.wait_action == "abort" ? 1 : 0;
  state.waits_on = waits_on() ? 1 : 0;
  state.deadline_ns = deadline_ns();
  state.fault = proxy_->fault();
  return state;
}

Status Job::make_device_state() {
  if (device_state_ != nullptr || gpu_state_) return Status::ok();
  RETURN_IF_ERROR(make_proxy());
  if (gpu != nullptr) {
    RETURN_IF_ERROR(gpu->publish(common_state()));
    gpu_state_ = true;
    shown_to_kernels_.store(Shown::kState, std::memory_order_release);  // see end_waits
    return Status::ok();
  }
  ASSIGN_OR_RETURN(device_memory_, platform->host_visible(sizeof(DeviceState)));
  auto* state = new (device_memory_.base()) DeviceState(common_state());
  state->heap = heap->range().base;
  state->heap_bytes = heap->range().bytes;
  state->peer = routes.peer.data();
  state->journal_offset = journal_offset;
  state->adopted = heap->adopted().data();
  state->adopted_count = heap->adopted().size();
  device_state_ = state;
  shown_to_kernels_.store(Shown::kState, std::memory_order_release);  // see end_waits
  return Status::ok();
}

Result<DeviceContext> Job::cpu_handle(int lane) {
  DeviceContext handle;
  handle.heap = device_state_->heap;
  handle.peer = device_state_->peer;
  handle.state = device_state_;
  handle.heap_bytes = device_state_->heap_bytes;
  handle.teams = teams;
  if (routes.map_all() && !routes.atomics) return handle;
  handle.flags = kDeviceRing | (routes.atomics ? kDeviceAtomicsByRing : 0);
  RingView& ring = device_state_->ring[lane];
  if (ring.slots == nullptr) {
    ASSIGN_OR_RETURN(ring, proxy_->open_ring(lane));
  }
  return handle;
}

Result<DeviceContext> Job::gpu_handle(int lane) {
  DeviceContext handle = gpu->handle();
  if (gpu->maps_all()) return handle;
  handle.flags = kDeviceRing;
  const auto at = static_cast<std::size_t>(lane);
  if (!gpu_rings_[at]) {
    ASSIGN_OR_RETURN(const RingView ring, proxy_->open_ring(lane));
    RETURN_IF_ERROR(gpu->publish_ring(lane, ring));
    gpu_rings_.set(at);
  }
  return handle;
}

bool Job::has_given_device() {
  const std::lock_guard lock(device_mutex_);
  return device_state_ != nullptr || gpu_state_;
}

// A proxy that was made before there was a GPU carries out nothing for kernels there. The queues
// that it drives stand still only while another one is made, which waits for no other PE.
Status Job::prepare_for_kernels() {
  const std::lock_guard lock(device_mutex_);
  if (gpu != nullptr && stream_waits == nullptr) proxy_.reset();
  return make_device_state();
}

Result<DeviceContext> Job::device(int lane) {
  const std::lock_guard alone(gpu_mutex_);
  const std::lock_guard lock(device_mutex_);
  RETURN_IF_ERROR(make_device_state());
  ASSIGN_OR_RETURN(DeviceContext handle, gpu == nullptr ? cpu_handle(lane) : gpu_handle(lane));
  handle.pe = pe;
  handle.npes = npes;
  handle.lane = lane;
  if (options.check) {
    handle.flags |= kDeviceCheck;
    handle.plain_bytes = 0;
  }
  return handle;
}

void Job::drop_gpu() {
  const std::lock_guard lock(device_mutex_);
  proxy_.reset();
  stream_waits.reset();
  gpu_state_ = false;
  shown_to_kernels_ = Shown::kNothing;
  gpu_rings_.reset();
  gpu.set(nullptr);
}

// Filled once: what a lane's handle says never changes, and kernels may be reading it.
Result<const DeviceContext*> Job::device_pointer(int lane) {
  ASSIGN_OR_RETURN(const DeviceContext handle, device(lane));
  const std::lock_guard lock(device_mutex_);
  const auto at = static_cast<std::size_t>(lane);
  if (!shown_[at]) {
    if (gpu != nullptr) RETURN_IF_ERROR(gpu->show(handle));
    handles_[at] = handle;
    shown_.set(at);
  }
  return gpu == nullptr ? &handles_[at] : gpu->shown(lane);
}

bool Job::is_on_gpu(const void* address) const {
  return gpu != nullptr && gpu->heap().may_hold(address);
}

void Job::show_adopted() {
  const std::lock_guard lock(device_mutex_);
  // Release: the ranges are there before their count. Pairs with the acquire of kernels' look-up.
  if (device_state_ != nullptr)
    __atomic_store_n(&device_state_->adopted_count, heap->adopted().size(), __ATOMIC_RELEASE);
}

Status Job::device_health() {
  if (is_inherited()) return health();
  const std::lock_guard lock(device_mutex_);
  return proxy_ == nullptr ? Status::ok() : proxy_->health();
}

void Job::stop_proxy() {
  const std::lock_guard lock(device_mutex_);
  if (proxy_ != nullptr) proxy_->stop();
  if (!has_ended() || has_lost_gpu()) return;
  end_waits();  // the proxy has not looked since, perhaps
  if (stream_waits != nullptr) end_stream_waits();
}

// --- lanes ---------------------------------------------------------------------------------------

Result<int> Job::take_lane() {
  const std::lock_guard lock(mutex_);
  for (int lane = 0; lane < kMaxLanes; ++lane) {
    const auto bit = static_cast<std::size_t>(lane);
    if (lanes_[bit]) continue;
    lanes_.set(bit);
    return lane;
  }
  return Status::error(
      Code::kOutOfRange,
      fmt::format("PE {} has {} contexts already, as many as a runtime can have at a time; destroy "
                  "one that is no longer used",
                  pe, kMaxLanes));
}

void Job::give_lane(int lane) {
  const std::lock_guard lock(mutex_);
  lanes_.reset(static_cast<std::size_t>(lane));
}

void Job::enter(Context::Impl* context, int lane, LaneQueue* queue) {
  {
    const std::lock_guard lock(mutex_);
    contexts_[static_cast<std::size_t>(lane)] = context;
  }
  const std::lock_guard lock(device_mutex_);
  if (proxy_ != nullptr) proxy_->drive(queue);
}

void Job::leave(int lane, LaneQueue* queue) {
  {
    const std::lock_guard lock(mutex_);
    contexts_[static_cast<std::size_t>(lane)] = nullptr;
  }
  const std::lock_guard lock(device_mutex_);
  if (proxy_ != nullptr) proxy_->release(queue);
}

std::vector<Context::Impl*> Job::contexts() {
  const std::lock_guard lock(mutex_);
  std::vector<Context::Impl*> live;
  for (Context::Impl* context : contexts_)
    if (context != nullptr) live.push_back(context);
  return live;
}

void Job::defer_reclamation(std::shared_ptr<void> remains) {
  const std::lock_guard lock(mutex_);
  deferred_.push_back(std::move(remains));
}

std::string Job::last_writer(std::uint64_t offset) const {
  if (journal_offset == 0) return "";
  const int writer = dev::journal_writer(heap->range().base, journal_offset, offset);
  return writer < 0 ? "" : fmt::format("PE {}", writer);
}

}  // namespace weft
