#include "host/proxy/device_ring.hpp"

#include <bit>
#include <new>

#include <fmt/format.h>

#include <weft/dev/ring.hpp>

#include "host/transport/apply.hpp"
#include "src/base/round_up.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

// Counters of two sides never share a line or its neighbour.
constexpr std::size_t kLine = alignof(RingTickets);

}  // namespace

DeviceRing::DeviceRing(const Routes& routes, Lane lane, const Limits& limits)
    : queue_(routes, lane), limits_(limits) {}

Result<std::unique_ptr<DeviceRing>> DeviceRing::create(Platform& platform, const Routes& routes,
                                                       Lane lane, const Limits& limits) {
  std::unique_ptr<DeviceRing> ring(new DeviceRing(routes, lane, limits));
  RETURN_IF_ERROR(ring->allocate(platform));
  return ring;
}

// One block of zeroed memory: slots, results, their busy words, a line for each counter, and what
// kernels count, unless they have memory of their own for that.
Status DeviceRing::allocate(Platform& platform) {
  const std::uint64_t capacity = std::bit_ceil(limits_.capacity);
  const std::uint64_t slots = capacity * sizeof(Op);
  const std::uint64_t results = capacity * sizeof(std::uint64_t);
  const std::uint64_t busy = capacity * sizeof(std::uint32_t);
  const std::uint64_t counters = round_up(slots + results + busy, kLine);
  ASSIGN_OR_RETURN(memory_, platform.host_visible(counters + 3 * kLine + sizeof(RingTickets)));
  std::byte* base = memory_.base();
  view_.capacity = capacity;
  view_.slots = reinterpret_cast<Op*>(base);
  view_.results = reinterpret_cast<std::uint64_t*>(base + slots);
  view_.results_busy = reinterpret_cast<std::uint32_t*>(base + slots + results);
  view_.consumed = reinterpret_cast<std::uint64_t*>(base + counters);
  view_.completed = reinterpret_cast<std::uint64_t*>(base + counters + kLine);
  view_.wanted = reinterpret_cast<std::uint64_t*>(base + counters + 2 * kLine);
  view_.tickets = new (base + counters + 3 * kLine) RingTickets{.credit = capacity};
  return Status::ok();
}

bool DeviceRing::step(std::uint64_t now_ns, Status& failure) {
  bool moved = take(now_ns, failure);
  if (!in_flight_.empty() || next_) {
    // Somebody waits: what a transport holds back must go.
    if (dev::ring::wanted(view_) > completed_) queue_.flush();
    queue_.progress();
  }
  moved |= publish(now_ns);
  check_deadline(now_ns, failure);
  const Status error = queue_.take_error();
  if (failure.is_ok() && !error.is_ok()) failure = located(error, completed_);
  return moved;
}

bool DeviceRing::take(std::uint64_t now_ns, Status& failure) {
  int count = 0;
  while (count < limits_.batch && next_record() && post_next(now_ns, failure)) ++count;
  // The records and, unless they stay, their sources were read.
  if (count != 0) dev::ring::free_slots(view_, taken_);
  return count != 0;
}

bool DeviceRing::next_record() {
  if (next_) return true;
  Op op;
  if (!dev::ring::pop(view_, taken_, op)) return false;
  next_ = op;
  return true;
}

// False: not yet.
bool DeviceRing::post_next(std::uint64_t now_ns, Status& failure) {
  LaneQueue::Ticket ticket;
  Status status = queue_.post(*next_, &ticket);
  if (status.is(Code::kBusy)) {
    if (busy_since_ == 0) busy_since_ = now_ns;
    if (!past_deadline(busy_since_, now_ns)) return false;
    status = Status::error(
        Code::kTimeout,
        fmt::format("{}: the transport had no room for {:.3g} s; is the PE still "
                    "there? WEFT_WAIT_TIMEOUT sets the deadline",
                    describe(*next_), static_cast<double>(now_ns - busy_since_) * 1e-9));
  }
  if (!status.is_ok() && failure.is_ok()) failure = located(status, taken_);
  in_flight_.push_back({*next_, ticket, !status.is_ok()});
  if (in_flight_.size() == 1) front_since_ = now_ns;
  next_.reset();
  busy_since_ = 0;
  ++taken_;
  return true;
}

bool DeviceRing::publish(std::uint64_t now_ns) {
  const std::uint64_t before = completed_;
  while (!in_flight_.empty() &&
         (in_flight_.front().refused || queue_.done(in_flight_.front().ticket))) {
    in_flight_.pop_front();
    ++completed_;
    front_since_ = now_ns;
    front_reported_ = false;
  }
  if (completed_ == before) return false;
  dev::ring::complete(view_, completed_);
  return true;
}

// A record that does not complete is reported once; kernels end by their own deadlines.
void DeviceRing::check_deadline(std::uint64_t now_ns, Status& failure) {
  const bool waited_for = dev::ring::wanted(view_) > completed_;
  if (in_flight_.empty() || !waited_for) front_since_ = now_ns;
  if (in_flight_.empty() || front_reported_ || !past_deadline(front_since_, now_ns)) return;
  front_reported_ = true;
  if (!failure.is_ok()) return;
  failure = located(
      Status::error(
          Code::kTimeout,
          fmt::format("{}: not complete after {:.3g} s, with {} more behind it; is the PE "
                      "still there? WEFT_WAIT_TIMEOUT sets the deadline",
                      describe(in_flight_.front().op),
                      static_cast<double>(now_ns - front_since_) * 1e-9, in_flight_.size() - 1)),
      completed_);
}

bool DeviceRing::past_deadline(std::uint64_t since_ns, std::uint64_t now_ns) const {
  return limits_.deadline_ns != 0 && now_ns - since_ns >= limits_.deadline_ns;
}

Status DeviceRing::located(const Status& status, std::uint64_t record) const {
  return Status::error(status.code(),
                       fmt::format("operation {} of the kernels of context {}: {}", record,
                                   static_cast<std::uint32_t>(queue_.lane()) / 2, status.text()));
}

}  // namespace weft
