#include "host/proxy/proxy.hpp"

#include <algorithm>
#include <new>
#include <thread>

#include <fmt/format.h>

#include <weft/dev/fault.hpp>

#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

bool routes_need_progress(const Routes& routes) {
  return std::any_of(routes.transports.begin(), routes.transports.end(),
                     [](const auto& transport) { return transport->caps().needs_progress; });
}

}  // namespace

Proxy::Proxy(Config config) : config_(std::move(config)) {
  const Options& options = *config_.options;
  limits_.capacity = static_cast<std::uint64_t>(options.ring_capacity);
  limits_.batch = static_cast<int>(options.proxy_batch);
  // A put must not be dropped because its PE is busy: waits that go on have a limit only.
  const bool waits_on = options.wait_action == "wait";
  limits_.deadline_ns =
      static_cast<std::uint64_t>((waits_on ? options.wait_limit : options.wait_timeout) * 1e9);
}

Result<std::unique_ptr<Proxy>> Proxy::create(Config config) {
  std::unique_ptr<Proxy> proxy(new Proxy(std::move(config)));
  RETURN_IF_ERROR(proxy->allocate());
  return proxy;
}

Status Proxy::allocate() {
  ASSIGN_OR_RETURN(fault_memory_, config_.platform->host_visible(sizeof(FaultRecord)));
  fault_ = new (fault_memory_.base()) FaultRecord;
  return Status::ok();
}

Proxy::~Proxy() { stop(); }

Result<RingView> Proxy::open_ring(int context) {
  if (context < 0 || context >= kMaxLanes)
    return Status::error(Code::kOutOfRange,
                         fmt::format("context {} has no ring: there are {}", context, kMaxLanes));
  RingView view;
  {
    std::lock_guard lock(mutex_);
    const Lane lane = device_lane(context);
    auto found = std::find_if(rings_.begin(), rings_.end(),
                              [lane](const auto& ring) { return ring->lane() == lane; });
    if (found == rings_.end()) {
      const Routes* const routes = config_.ring_routes ? config_.ring_routes : config_.routes;
      ASSIGN_OR_RETURN(auto made, DeviceRing::create(*config_.platform, *routes, lane, limits_));
      found = rings_.insert(rings_.end(), std::move(made));
    }
    view = (*found)->view();
  }
  nudge();
  return view;
}

void Proxy::drive(LaneQueue* lane) {
  if (!routes_need_progress(*config_.routes)) return;
  {
    std::lock_guard lock(mutex_);
    driven_.push_back({lane, lane->rounds()});
  }
  nudge();
}

void Proxy::release(LaneQueue* lane) {
  std::lock_guard lock(mutex_);
  std::erase_if(driven_, [lane](const Driven& each) { return each.lane == lane; });
}

// True unless nothing is under way, or the owner was at it since the last look.
bool Proxy::Driven::carry_on() {
  const std::uint64_t now = lane->rounds();
  const bool owner_does = std::exchange(rounds, now) != now;
  if (owner_does || !lane->needs_progress()) return false;
  lane->progress();
  rounds = lane->rounds();
  return true;
}

bool Proxy::step(std::uint64_t now_ns) {
  bool moved = false;
  Status failure, fault;
  {
    std::lock_guard lock(mutex_);
    for (const auto& ring : rings_) moved |= ring->step(now_ns, failure);
    carries_on_ = false;
    for (Driven& each : driven_) carries_on_ |= each.carry_on();
    fault = look_at_fault();
    note(fault);  // first: a kernel's own report says most
    note(failure);
  }
  tell(fault);
  tell(failure);
  if (config_.look_further) {
    const Status further = config_.look_further(now_ns);
    {
      std::lock_guard lock(mutex_);
      note(further);
    }
    tell(further);
  }
  return moved;
}

Status Proxy::health() {
  Status fault, first;
  {
    std::lock_guard lock(mutex_);
    fault = look_at_fault();
    note(fault);
    first = health_;
  }
  tell(fault);
  return first;
}

// Takes the record, so that kernels can report again.
Status Proxy::look_at_fault() {
  FaultRecord record;
  if (!dev::take_fault(*fault_, &record)) return Status::ok();
  Status fault = describe_fault(record, config_.pe, config_.routes->npes(), config_.heap_bytes,
                                config_.last_writer, config_.end ? config_.end() : Status::ok());
  return reports_only(record, fault) ? Status::ok() : fault;
}

// A wait that goes on (WEFT_WAIT_ACTION=wait) is no failure before WEFT_WAIT_LIMIT.
bool Proxy::reports_only(const FaultRecord& record, const Status& described) {
  if (record.goes_on == 0) return false;
  const double limit = config_.options->wait_limit;
  if (limit != 0 && static_cast<double>(record.waited_ns) * 1e-9 >= limit) return false;
  const int number = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number <= kMostPrinted) LOG(kWarn, "proxy", "{}. It goes on waiting", described.text());
  return true;
}

void Proxy::note(const Status& failure) {
  if (health_.is_ok()) health_ = failure;
}

void Proxy::tell(const Status& failure) {
  if (failure.is_ok()) return;
  const int number = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number <= kMostPrinted) LOG(kError, "proxy", "{}", failure.text());
  if (number == kMostPrinted) LOG(kError, "proxy", "more failures will not be printed");
  if (!config_.on_failure || told_.exchange(true, std::memory_order_relaxed)) return;
  std::unique_lock lock(mutex_);
  const Status first = health_;
  lock.unlock();
  config_.on_failure(first);
}

Status Proxy::start() {
  std::lock_guard lock(thread_mutex_);
  if (thread_.joinable()) return Status::ok();
  stop_ = false;
  ASSIGN_OR_RETURN(thread_, start_thread({"weft-proxy"}, [this] { run(); }));
  return Status::ok();
}

void Proxy::stop() {
  Thread ending;
  {
    std::lock_guard lock(thread_mutex_);
    stop_ = true;
    ending = std::move(thread_);
    wake_.notify_one();
  }
  ending.join();
}

bool Proxy::is_running() const {
  std::lock_guard lock(thread_mutex_);
  return thread_.joinable();
}

void Proxy::nudge() {
  std::lock_guard lock(thread_mutex_);
  nudged_ = true;
  wake_.notify_one();
}

void Proxy::run() {
  set_log_pe(config_.pe);
  Backoff backoff;
  for (;;) {
    const bool moved = step(now_ns());
    if (moved) backoff.reset();
    if (!pause(moved ? Backoff::kNone : backoff.next(is_needed()))) return;
  }
}

bool Proxy::is_needed() const {
  std::lock_guard lock(mutex_);
  return carries_on_ || !rings_.empty();
}

// False: the thread shall end.
bool Proxy::pause(Backoff::Pause length) {
  if (length == Backoff::kYield) std::this_thread::yield();
  if (length > Backoff::kYield) {
    std::unique_lock lock(thread_mutex_);
    wake_.wait_for(lock, length, [this] { return stop_ || nudged_; });
    nudged_ = false;
  }
  return !stop_;
}

}  // namespace weft
