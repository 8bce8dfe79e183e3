#include "host/transport/ib/service.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "host/transport/ib/reliable.hpp"
#include "src/base/clock.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

// wr_ids: datagrams, requests, answers sent.
constexpr std::uint64_t kDials = 0, kRequests = std::uint64_t{1} << 32,
                        kSent = std::uint64_t{2} << 32;

constexpr int kPlaces = 1024;   // for requests of all lanes of all PEs; the network holds more back
constexpr int kAnswers = 1024;  // under way
constexpr std::size_t kRequestBytes = 64;
static_assert(sizeof(Request) <= kRequestBytes);

// How long the thread looks again before it sleeps: a sleeping one answers some 10 us later.
constexpr std::uint64_t kAwakeNs = 50'000;

}  // namespace

Result<std::unique_ptr<Service>> Service::create(const Port& port, int pe, Work work) {
  std::unique_ptr<Service> made(new Service(port, pe, std::move(work)));
  RETURN_IF_ERROR(made->open());
  return made;
}

Status Service::open() {
  const Verbs& verbs = port_.verbs();
  ASSIGN_OR_RETURN(channel_,
                   owned([&] { return verbs.create_comp_channel(port_.context()); },
                         verbs.destroy_comp_channel, "make a completion channel", port_.name()));
  ASSIGN_OR_RETURN(done_, port_.make_cq(kPlaces + kAnswers + Datagrams::kReceives, channel_.get()));
  ASSIGN_OR_RETURN(requests_, Receives::make(port_, kPlaces, kRequestBytes, kRequests));
  ASSIGN_OR_RETURN(datagrams_, Datagrams::create(port_, done_.get(), kDials));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return wake_ ? Status::ok() : failure("make an event descriptor", "this host", errno);
}

void Service::start(std::vector<PeAddress> peers) {
  peers_ = std::move(peers);
  datagrams_->know(peers_);
  thread_ = std::thread([this] { run(); });
}

Service::~Service() {
  if (!thread_.joinable()) return;
  stops_.store(true, std::memory_order_release);  // pairs with the acquire in run
  const std::uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0)
    LOG(kDebug, "transport", "ib: {}", std::strerror(errno));
  thread_.join();
}

Status Service::ask(int pe, std::uint32_t lane, std::uint32_t qp, std::uint32_t psn) {
  const Dial ask{.key = peers_[static_cast<std::size_t>(pe)].key,
                 .kind = Dial::Kind::kAsk,
                 .from = pe_,
                 .lane = lane,
                 .qp = qp,
                 .psn = psn,
                 .asked = qp};
  return datagrams_->send(pe, ask);
}

void Service::run() {
  set_log_pe(pe_);
  std::uint64_t busy_at = now_ns();
  while (!stops_.load(std::memory_order_acquire)) {
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
  if (ibv_req_notify_cq(done_.get(), 0) != 0 || drain()) return;
  std::array<pollfd, 3> files = {pollfd{channel_->fd, POLLIN, 0},
                                 pollfd{port_.context()->async_fd, POLLIN, 0},
                                 pollfd{wake_.get(), POLLIN, 0}};
  if (::poll(files.data(), files.size(), -1) < 0) return;
  if (files[0].revents != 0) {
    ibv_cq* which = nullptr;
    void* context = nullptr;
    if (port_.verbs().get_cq_event(channel_.get(), &which, &context) == 0)
      port_.verbs().ack_cq_events(which, 1);
  }
  if (files[1].revents != 0) look_at_events();
}

void Service::look_at_events() {
  ibv_async_event event{};
  if (port_.verbs().get_async_event(port_.context(), &event) != 0) return;
  const auto type = event.event_type;
  port_.verbs().ack_async_event(&event);
  if (type == IBV_EVENT_PORT_ERR)
    LOG(kWarn, "transport", "ib: {} is down; what is under way waits for it for seconds",
        port_.name());
  else if (type == IBV_EVENT_PORT_ACTIVE)
    LOG(kInfo, "transport", "ib: {} is up", port_.name());
  else if (type == IBV_EVENT_DEVICE_FATAL)
    LOG(kError, "transport", "ib: the device of {} has failed; see dmesg", port_.name());
}

// True if there was something.
bool Service::drain() {
  std::array<ibv_wc, 32> done;
  const int count = ibv_poll_cq(done_.get(), static_cast<int>(done.size()), done.data());
  for (int i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)]);
  while (!waiting_.empty() && take_request(waiting_.front())) waiting_.pop_front();
  return count > 0;
}

void Service::take(const ibv_wc& done) {
  if (done.wr_id >= kSent)
    take_sent(done);
  else if (done.wr_id >= kRequests)
    waiting_.push_back(done);
  else
    take_dial(done);
}

void Service::take_dial(const ibv_wc& done) {
  Dial dial;
  const auto npes = static_cast<std::int64_t>(peers_.size());
  const bool known = datagrams_->read(done, &dial) && dial.from >= 0 && dial.from < npes &&
                     dial.key == peers_[static_cast<std::size_t>(pe_)].key;
  if (done.status != IBV_WC_WR_FLUSH_ERR) {
    const Status posted = datagrams_->post_receive(done.wr_id);
    if (!posted.is_ok()) LOG(kError, "transport", "ib: {}", posted.text());
  }
  if (!known) return;  // a stranger's, or damaged
  if (dial.kind == Dial::Kind::kAsk)
    serve(dial);
  else
    work_.replied(dial);
}

// One who asks again has not heard, and hears the same.
void Service::serve(const Dial& ask) {
  Dial reply{.key = peers_[static_cast<std::size_t>(ask.from)].key,
             .kind = Dial::Kind::kAnswer,
             .from = pe_,
             .lane = ask.lane,
             .asked = ask.qp};
  auto& served = served_[{ask.from, ask.lane}];
  if (served == nullptr) {
    auto fresh = std::make_unique<Served>();
    const Status tied = tie_to(ask, *fresh);
    if (tied.is_ok()) {
      by_qp_[fresh->qp->qp_num] = fresh.get();
      served = std::move(fresh);
    } else {
      LOG(kWarn, "transport", "ib: PE {} asked for a queue pair: {}", ask.from, tied.text());
    }
  }
  if (served == nullptr || served->theirs != ask.qp) {
    reply.kind = Dial::Kind::kRefusal;
  } else {
    reply.qp = served->qp->qp_num;
    reply.psn = served->psn;
  }
  const Status sent = datagrams_->send(ask.from, reply);
  if (!sent.is_ok()) LOG(kWarn, "transport", "ib: {}", sent.text());
}

Status Service::tie_to(const Dial& ask, Served& served) const {
  ASSIGN_OR_RETURN(served.qp, make_reliable(port_, {.sent = done_.get(),
                                                    .received = done_.get(),
                                                    .receives = requests_.queue(),
                                                    .sends = 2 * kLaneRequests,
                                                    .access = port_.heap_access()}));
  served.theirs = ask.qp;
  served.psn = random_psn();
  return tie(port_, served.qp.get(),
             {peers_[static_cast<std::size_t>(ask.from)].port, ask.qp, ask.psn}, served.psn);
}

// False: not now, since too many answers are under way.
bool Service::take_request(const ibv_wc& done) {
  const auto served = by_qp_.find(done.qp_num);
  if (done.status == IBV_WC_SUCCESS && served != by_qp_.end()) {
    Request request;
    if (answers_ == kAnswers || served->second->answers == 2 * kLaneRequests) return false;
    std::memcpy(&request, requests_.place(done.wr_id), sizeof request);
    Answer reply{.ticket = request.ticket};
    reply.refused = work_.execute(request, &reply.old) ? 0 : 1;
    answer(*served->second, reply);
  } else if (done.status != IBV_WC_SUCCESS) {
    drop(done.qp_num);
  }
  const Status posted = requests_.post(done.wr_id);
  if (!posted.is_ok()) LOG(kError, "transport", "ib: {}", posted.text());
  return true;
}

void Service::answer(Served& served, const Answer& answer) {
  ibv_sge bytes{reinterpret_cast<std::uint64_t>(&answer), sizeof answer, 0};
  ibv_send_wr request{};
  request.wr_id = kSent;
  request.sg_list = &bytes;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(served.qp.get(), &request, &bad); error != 0) {
    LOG(kError, "transport", "ib: {}", failure("answer a request", port_.name(), error).text());
    return;
  }
  ++served.answers;
  ++answers_;
}

void Service::take_sent(const ibv_wc& done) {
  const auto served = by_qp_.find(done.qp_num);
  if (served == by_qp_.end()) return;
  --served->second->answers;
  --answers_;
  if (done.status != IBV_WC_SUCCESS) drop(done.qp_num);
}

// Its PE is gone, or has ended. The queue pair stays, without a use, as long as its completions may
// come.
void Service::drop(std::uint32_t qp) {
  const auto served = by_qp_.find(qp);
  if (served == by_qp_.end()) return;
  answers_ -= served->second->answers;
  by_qp_.erase(served);
}

}  // namespace weft::ib
