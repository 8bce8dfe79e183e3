#include "host/transport/ib/service.hpp"

#include <poll.h>
#include <sched.h>

#include <array>

#include "host/transport/ib/reliable.hpp"
#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::ib {

namespace {

// How long the thread looks again before it sleeps: a sleeping one answers some 10 us later.
constexpr std::uint64_t kAwakeNs = 50'000;

}  // namespace

Result<std::unique_ptr<Service>> Service::create(std::span<const Port> ports, int pe, Work work) {
  std::unique_ptr<Service> made(new Service(pe, std::move(work)));
  RETURN_IF_ERROR(made->open(ports));
  return made;
}

Status Service::open(std::span<const Port> ports) {
  for (const Port& port : ports) {
    ASSIGN_OR_RETURN(std::unique_ptr<ServiceEndpoint> endpoint,
                     ServiceEndpoint::open(port, endpoints_.size()));
    endpoints_.push_back(std::move(endpoint));
  }
  return Status::ok();
}

std::vector<ServiceAddress> Service::addresses() const {
  std::vector<ServiceAddress> all;
  for (const auto& endpoint : endpoints_)
    all.push_back({endpoint->port.address(), endpoint->datagrams->number()});
  return all;
}

Status Service::start(std::vector<PeAddress> peers) {
  peers_ = std::move(peers);
  for (const auto& endpoint : endpoints_) endpoint->datagrams->know(peers_);
  return thread_.start("weft-ib", [this] { run(); });
}

Service::~Service() = default;

// The common part of all messages to a PE about a queue pair.
ConnectMessage Service::message_to(int pe, ConnectMessage::Kind kind, std::uint32_t lane,
                                   std::uint32_t asked) const {
  return {.key = peers_[static_cast<std::size_t>(pe)].key,
          .kind = kind,
          .from = pe_,
          .lane = lane,
          .asked = asked};
}

Status Service::ask(std::size_t rail, int pe, std::uint32_t lane, std::uint32_t qp,
                    std::uint32_t psn) {
  ConnectMessage ask = message_to(pe, ConnectMessage::Kind::kRequest, lane, qp);
  ask.qp = qp;
  ask.psn = psn;
  return endpoints_[rail]->datagrams->send(pe, ask);
}

Status Service::ask_end(std::size_t rail, int pe, std::uint32_t lane, std::size_t failed,
                        std::uint32_t qp, std::uint32_t psn) {
  ConnectMessage ask = message_to(pe, ConnectMessage::Kind::kDisconnect, lane, qp);
  ask.psn = psn;
  ask.rail = static_cast<std::uint32_t>(failed);
  return endpoints_[rail]->datagrams->send(pe, ask);
}

void Service::run() {
  set_log_pe(pe_);
  std::uint64_t busy_at = now_ns();
  while (!thread_.stops()) {
    if (drain()) {
      busy_at = now_ns();
    } else if (now_ns() - busy_at < kAwakeNs) {
      ::sched_yield();
    } else {
      sleep();
      busy_at = now_ns();
    }
  }
}

// Until something comes, also what came between the last look and here.
void Service::sleep() {
  std::vector<pollfd> files = {{thread_.wake_file(), POLLIN, 0}};
  for (const auto& endpoint : endpoints_) {
    if (ibv_req_notify_cq(endpoint->done.get(), 0) != 0) return;
    files.push_back({endpoint->channel->fd, POLLIN, 0});
    files.push_back({endpoint->port.context()->async_fd, POLLIN, 0});
  }
  if (drain() || ::poll(files.data(), files.size(), -1) < 0) return;
  for (std::size_t rail = 0; rail < endpoints_.size(); ++rail) {
    const ServiceEndpoint& endpoint = *endpoints_[rail];
    ibv_cq* which = nullptr;
    void* context = nullptr;
    if (files[1 + 2 * rail].revents != 0 &&
        endpoint.port.verbs().get_cq_event(endpoint.channel.get(), &which, &context) == 0)
      endpoint.port.verbs().ack_cq_events(which, 1);
    if (files[2 + 2 * rail].revents != 0) look_at_events(endpoint.port);
  }
}

void Service::look_at_events(const Port& port) {
  ibv_async_event event{};
  if (port.verbs().get_async_event(port.context(), &event) != 0) return;
  const auto type = event.event_type;
  port.verbs().ack_async_event(&event);
  if (type == IBV_EVENT_PORT_ERR)
    LOG(kWarn, "transport", "ib: {} is down; what is under way there waits for it for seconds",
        port.name());
  else if (type == IBV_EVENT_PORT_ACTIVE)
    LOG(kInfo, "transport", "ib: {} is up", port.name());
  else if (type == IBV_EVENT_DEVICE_FATAL)
    LOG(kError, "transport", "ib: the device of {} has failed; see dmesg", port.name());
}

// True if there was something.
bool Service::drain() {
  bool found = false;
  for (const auto& endpoint : endpoints_) {
    std::array<ibv_wc, 32> done;
    const int count = ibv_poll_cq(endpoint->done.get(), static_cast<int>(done.size()), done.data());
    for (int i = 0; i < count; ++i) take(*endpoint, done[static_cast<std::size_t>(i)]);
    found |= count > 0;
  }
  while (!waiting_.empty() && take_request(waiting_.front())) waiting_.pop_front();
  return found;
}

void Service::take(ServiceEndpoint& endpoint, const ibv_wc& done) {
  if (done.wr_id >= ServiceEndpoint::kSent)
    take_sent(endpoint, done);
  else if (done.wr_id >= ServiceEndpoint::kRequests)
    waiting_.push_back({&endpoint, done});
  else
    take_connect_message(endpoint, done);
}

void Service::take_connect_message(ServiceEndpoint& endpoint, const ibv_wc& done) {
  ConnectMessage message;
  const auto npes = static_cast<std::int64_t>(peers_.size());
  const bool known =
      endpoint.datagrams->read(done, &message) && message.from >= 0 && message.from < npes &&
      message.key == peers_[static_cast<std::size_t>(pe_)].key &&
      endpoint.rail < peers_[static_cast<std::size_t>(message.from)].endpoints.size();
  if (done.status != IBV_WC_WR_FLUSH_ERR) {
    const Status posted = endpoint.datagrams->post_receive(done.wr_id);
    if (!posted.is_ok()) LOG(kError, "transport", "ib: {}", posted.text());
  }
  if (!known) return;  // a stranger's, or damaged
  if (message.kind == ConnectMessage::Kind::kRequest)
    serve(endpoint, message);
  else if (message.kind == ConnectMessage::Kind::kDisconnect)
    end(endpoint, message);
  else
    work_.replied(message, endpoint.rail);
}

// One who asks again has not heard, and hears the same.
void Service::serve(ServiceEndpoint& endpoint, const ConnectMessage& ask) {
  ConnectMessage reply = message_to(ask.from, ConnectMessage::Kind::kReply, ask.lane, ask.qp);
  Caller& caller = callers_[{ask.from, ask.lane}];
  caller.pe = ask.from;
  auto& served = caller.ends[endpoint.rail];
  if (served == nullptr) {
    auto fresh = std::make_unique<Served>();
    fresh->caller = &caller;
    const Status connected = connect_to(endpoint, ask, *fresh);
    if (connected.is_ok()) {
      endpoint.by_qp[fresh->qp->qp_num] = fresh.get();
      served = std::move(fresh);
    } else {
      LOG(kWarn, "transport", "ib: PE {} asked for a queue pair: {}", ask.from, connected.text());
    }
  }
  if (served == nullptr || served->theirs != ask.qp) {
    reply.kind = ConnectMessage::Kind::kReject;
  } else {
    reply.qp = served->qp->qp_num;
    reply.psn = served->psn;
  }
  this->reply(endpoint, ask.from, reply);
}

// Also of one that was never connected here, or that knows already: what it took does not change.
void Service::end(ServiceEndpoint& endpoint, const ConnectMessage& ask) {
  if (ask.rail >= endpoints_.size()) return;
  ConnectMessage reply =
      message_to(ask.from, ConnectMessage::Kind::kDisconnected, ask.lane, ask.asked);
  reply.psn = ask.psn;
  reply.rail = ask.rail;
  reply.known = 1;
  Served* const served = callers_[{ask.from, ask.lane}].ends[ask.rail].get();
  if (served != nullptr && served->theirs == ask.asked) {
    ServiceEndpoint& failed = *endpoints_[ask.rail];
    if (!std::exchange(served->has_ended, true)) {
      // Messages still on their way shall not come after what comes by another rail.
      ibv_qp_attr ended{};
      ended.qp_state = IBV_QPS_ERR;
      const Status modified =
          failed.port.modify(served->qp.get(), ended, IBV_QP_STATE, "end a queue pair");
      if (!modified.is_ok()) LOG(kWarn, "transport", "ib: {}", modified.text());
      drop(failed, served->qp->qp_num);
    }
    const Result<std::uint32_t> next = next_psn(failed.port, served->qp.get());
    reply.known = next.is_ok() ? 1 : 0;
    reply.psn = next.is_ok() ? *next : 0;
  }
  this->reply(endpoint, ask.from, reply);
}

void Service::reply(const ServiceEndpoint& endpoint, int pe, const ConnectMessage& message) const {
  const Status sent = endpoint.datagrams->send(pe, message);
  if (!sent.is_ok()) LOG(kWarn, "transport", "ib: {}", sent.text());
}

Status Service::connect_to(const ServiceEndpoint& endpoint, const ConnectMessage& ask,
                           Served& served) const {
  ASSIGN_OR_RETURN(served.qp,
                   make_reliable(endpoint.port, {.sent = endpoint.done.get(),
                                                 .received = endpoint.done.get(),
                                                 .receives = endpoint.requests.queue(),
                                                 .sends = 2 * kLaneRequests,
                                                 .access = endpoint.port.heap_access()}));
  served.theirs = ask.qp;
  served.psn = random_psn();
  const PeAddress& asker = peers_[static_cast<std::size_t>(ask.from)];
  return connect_queue_pair(endpoint.port, served.qp.get(),
                            {asker.endpoints[endpoint.rail].port, ask.qp, ask.psn}, served.psn);
}

}  // namespace weft::ib
