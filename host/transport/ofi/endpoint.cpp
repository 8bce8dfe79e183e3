#include "host/transport/ofi/endpoint.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

// --- opening -------------------------------------------------------------------------------------

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Options& options, bool one_host) {
  ASSIGN_OR_RETURN(auto fabric, Fabric::open(options, one_host));
  std::unique_ptr<Endpoint> made(new Endpoint(std::move(fabric)));
  RETURN_IF_ERROR(made->make_receives());
  return made;
}

// Operations under way name marks and memory of mine.
Endpoint::~Endpoint() { close(); }

// A peer that lives answers them, or closes its end, which ends them with an error.
void Endpoint::finish_reads() {
  std::vector<Event> events;
  const std::uint64_t deadline = now_ns() + kMostFinishNs;
  while (reads_ > 0 && now_ns() < deadline) {
    if (!poll(events)) ::sched_yield();
    events.clear();
  }
}

void Endpoint::close() {
  if (reads_ == 0) return fabric_->close_endpoint();
  LOG(kWarn, "transport", "ofi: {}: {} reads do not end; the endpoint is left open",
      fabric_->describe(), reads_);
  fabric_->leave_endpoint();
  reads_ = 0;
}

Status Endpoint::make_receives() {
  ASSIGN_OR_RETURN(buffer_, network::Buffer::make(kReceives * kMessageBytes,
                                                  [this](std::byte* base, std::size_t bytes) {
                                                    return fabric_->add_own_memory(base, bytes);
                                                  }));
  const std::lock_guard lock(fabric_->mutex());
  receives_.resize(std::min<std::size_t>(kReceives, fabric_->most_receives()));
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    receives_[i].bytes = buffer_.base() + i * kMessageBytes;
    RETURN_IF_ERROR(post_receive(receives_[i]));
  }
  return Status::ok();
}

Status Endpoint::start(int pe, const std::vector<network::Peer>& peers, Execute execute) {
  const std::lock_guard lock(fabric_->mutex());
  pe_ = pe;
  execute_ = std::move(execute);
  pending_.know(peers.size());
  heard_ = std::vector<std::atomic<std::uint64_t>>(peers.size());
  for (const network::Peer& peer : peers) {
    keys_.push_back(peer.key);
    addresses_.push_back(FI_ADDR_UNSPEC);
    if (!peer.usable) continue;
    Way way;
    std::memcpy(&way, peer.way.data(), std::min(sizeof way, peer.way.size()));
    const int added =
        ::fi_av_insert(fabric_->names(), way.name.data(), 1, &addresses_.back(), 0, nullptr);
    if (added != 1)
      return failure(
          fabric_->library(),
          fmt::format("note the address of PE {} ({})", keys_.size() - 1, way.text.data()),
          fabric_->describe(), added < 0 ? added : -FI_EINVAL);
  }
  return Status::ok();
}

// --- posting -------------------------------------------------------------------------------------

Endpoint::Posted& Endpoint::take_mark() {
  if (free_marks_.empty()) {
    marks_.emplace_back().kind = Mark::Kind::kTransfer;
    free_marks_.push_back(&marks_.back());
  }
  Posted& mark = *free_marks_.back();
  free_marks_.pop_back();
  return mark;
}

Status Endpoint::failed(std::string_view what, int pe, long result) const {
  if (result == -FI_EAGAIN) return Status::busy();
  return failure(fabric_->library(), fmt::format("{} PE {}", what, pe), fabric_->describe(),
                 result);
}

Status Endpoint::post(const Transfer& transfer, std::uint32_t lane, std::uint64_t flight) {
  iovec mine{transfer.local, transfer.bytes};
  auto* key = reinterpret_cast<void*>(transfer.local_key);
  fi_rma_iov theirs{transfer.remote, transfer.bytes, transfer.key};
  fi_msg_rma message{};
  message.msg_iov = &mine;
  message.desc = &key;
  message.iov_count = 1;
  message.rma_iov = &theirs;
  message.rma_iov_count = 1;
  const std::lock_guard lock(fabric_->mutex());
  message.addr = addresses_[static_cast<std::size_t>(transfer.pe)];
  Posted& mark = take_mark();
  mark.transfer = transfer;
  mark.lane = lane;
  mark.flight = flight;
  message.context = static_cast<Mark*>(&mark);
  const ssize_t result = transfer.reads ? ::fi_readmsg(fabric_->endpoint(), &message, FI_COMPLETION)
                                        : ::fi_writemsg(fabric_->endpoint(), &message,
                                                        FI_COMPLETION | FI_DELIVERY_COMPLETE);
  if (result == 0) {
    reads_ += transfer.reads ? 1 : 0;
    return Status::ok();
  }
  free_marks_.push_back(&mark);
  return failed(transfer.reads ? "read from" : "write to", transfer.pe, result);
}

Status Endpoint::make_batches() {
  ASSIGN_OR_RETURN(network::Buffer memory,
                   network::Buffer::make(kBatchesMade * kMessageBytes,
                                         [this](std::byte* base, std::size_t bytes) {
                                           return fabric_->add_own_memory(base, bytes);
                                         }));
  const std::lock_guard lock(fabric_->mutex());
  for (std::size_t i = 0; i < kBatchesMade; ++i) {
    Sent& batch = batches_.emplace_back(memory.base() + i * kMessageBytes, memory.key());
    free_batches_.push_back(&batch);
  }
  batch_memory_.push_back(std::move(memory));
  return Status::ok();
}

Result<MessageBatch*> Endpoint::take_batch() {
  for (;;) {
    {
      const std::lock_guard lock(fabric_->mutex());
      if (!free_batches_.empty()) {
        Sent* const batch = free_batches_.back();
        free_batches_.pop_back();
        batch->clear();
        return static_cast<MessageBatch*>(batch);
      }
    }
    RETURN_IF_ERROR(make_batches());
  }
}

void Endpoint::give_batch(MessageBatch& batch) {
  const std::lock_guard lock(fabric_->mutex());
  free_batches_.push_back(&static_cast<Sent&>(batch));
}

// A small one is copied by the provider; a larger one comes back when it is on its way.
Status Endpoint::send(int pe, MessageBatch& batch) {
  auto& sent = static_cast<Sent&>(batch);
  const std::lock_guard lock(fabric_->mutex());
  sent.pe = pe;
  const std::size_t answers = pending_.copy(pe, batch, kMessageBytes);
  batch.address(keys_[static_cast<std::size_t>(pe)], pe_);
  const fi_addr_t there = addresses_[static_cast<std::size_t>(pe)];
  const bool is_small = batch.size() <= kInjectBytes;
  const ssize_t result =
      is_small ? ::fi_inject(fabric_->endpoint(), batch.memory(), batch.size(), there)
               : ::fi_send(fabric_->endpoint(), batch.memory(), batch.size(),
                           reinterpret_cast<void*>(sent.key), there, static_cast<Mark*>(&sent));
  if (result != 0) {
    batch.take_answers_back();
    return failed("send to", pe, result);
  }
  pending_.drop(pe, answers);
  go_along_ = go_along_ || went_alone_;  // they would have gone along with it
  if (is_small) free_batches_.push_back(&sent);
  return Status::ok();
}

Status Endpoint::post_receive(Receive& receive) {
  auto* const key = reinterpret_cast<void*>(buffer_.key());
  const ssize_t result = ::fi_recv(fabric_->endpoint(), receive.bytes, kMessageBytes, key,
                                   FI_ADDR_UNSPEC, static_cast<Mark*>(&receive));
  return result == 0 ? Status::ok()
                     : failure(fabric_->library(), "receive", fabric_->describe(), result);
}

// --- completing ----------------------------------------------------------------------------------

bool Endpoint::poll(std::vector<Event>& events) {
  const std::unique_lock lock(fabric_->mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return false;
  bool found = false;     // anything, and
  bool expected = false;  // what no stranger sent
  const std::size_t served = served_;
  // The caller may wait for what a request has brought, so this returns before it looks for the
  // next.
  for (int read = 0; read < kReads && served == served_; ++read) {
    std::array<fi_cq_msg_entry, kCompletions> done;
    const ssize_t count = ::fi_cq_read(fabric_->done(), done.data(), done.size());
    if (count == -FI_EAVAIL)
      take_error(events);
    else if (count <= 0)
      break;
    for (ssize_t i = 0; i < count; ++i) expected |= take(done[static_cast<std::size_t>(i)], events);
    found = true;
  }
  while (!unposted_.empty() && post_receive(*unposted_.front()).is_ok()) unposted_.pop_front();
  // An answer may go along with what the caller sends next; or he sends nothing: then at once.
  // Strangers, who may send without end, do not put it off.
  if (!expected) went_alone_ = false;
  if (!expected || !go_along_ || served_ - answered_ >= kMostUnanswered) {
    answered_ = served_;
    // PEs to which nothing can be sent now stay for the next time.
    pending_.send_all([this](int pe) { return answer_some(pe); });
  }
  return found;
}

bool Endpoint::take(const fi_cq_msg_entry& done, std::vector<Event>& events) {
  if (done.op_context == nullptr) return false;
  auto* const mark = static_cast<Mark*>(done.op_context);
  if (mark->kind == Mark::Kind::kReceive) {
    auto& receive = static_cast<Receive&>(*mark);
    const bool is_ours = take_message(receive.bytes, done.len, events);
    if (!post_receive(receive).is_ok()) unposted_.push_back(&receive);
    return is_ours;
  }
  if (mark->kind == Mark::Kind::kMessage) {
    free_batches_.push_back(static_cast<Sent*>(mark));
  } else {
    auto& posted = static_cast<Posted&>(*mark);
    hear(posted.transfer.pe);
    give_back(posted, "", events);
  }
  return true;
}

void Endpoint::take_error(std::vector<Event>& events) {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(fabric_->done(), &error, 0) != 1) return;
  std::array<char, 128> detail{};
  ::fi_cq_strerror(fabric_->done(), error.prov_errno, error.err_data, detail.data(), detail.size());
  std::string why = fabric_->library().strerror(error.err);
  if (detail[0] != '\0' && why != detail.data()) why += fmt::format(" ({})", detail.data());
  if (error.op_context == nullptr) {
    LOG(kDebug, "transport", "ofi: {}: {}", fabric_->describe(), why);
    return;
  }
  auto* const mark = static_cast<Mark*>(error.op_context);
  if (mark->kind == Mark::Kind::kTransfer)
    return give_back(static_cast<Posted&>(*mark), std::move(why), events);
  if (mark->kind == Mark::Kind::kMessage) {
    auto* const batch = static_cast<Sent*>(mark);
    Event& event = events.emplace_back();
    event.kind = Event::Kind::kLost;
    event.pe = batch->pe;
    event.failure = std::move(why);
    return free_batches_.push_back(batch);
  }
  unposted_.push_back(static_cast<Receive*>(mark));
}

void Endpoint::give_back(Posted& posted, std::string why, std::vector<Event>& events) {
  Event& event = events.emplace_back();
  event.lane = posted.lane;
  event.flight = posted.flight;
  event.transfer = posted.transfer;
  event.failure = std::move(why);
  reads_ -= posted.transfer.reads ? 1 : 0;
  free_marks_.push_back(&posted);
}

void Endpoint::hear(int pe) {
  heard_[static_cast<std::size_t>(pe)].store(now_ns(), std::memory_order_relaxed);
}

// A message that does not begin with this PE's key is a stranger's: it is dropped, and is no sign
// of life.
bool Endpoint::take_message(const std::byte* bytes, std::size_t size, std::vector<Event>& events) {
  Header header;
  if (size < sizeof header || size > kMessageBytes) return false;
  std::memcpy(&header, bytes, sizeof header);
  if (keys_.empty() || header.key != keys_[static_cast<std::size_t>(pe_)]) return false;
  if (header.from >= keys_.size() || addresses_[header.from] == FI_ADDR_UNSPEC) return false;
  const auto from = static_cast<int>(header.from);
  hear(from);
  std::size_t at = sizeof header;
  for (int i = 0; i < header.requests; ++i) {
    Request request;
    if (size - at < sizeof request) return true;
    std::memcpy(&request, bytes + at, sizeof request);
    if (size - at < request.size()) return true;
    serve(from, request, bytes + at + sizeof request);
    at += request.size();
  }
  for (int i = 0; i < header.answers; ++i) {
    Answer answer;
    if (size - at < sizeof answer) return true;
    std::memcpy(&answer, bytes + at, sizeof answer);
    if (size - at < answer.size()) return true;
    const auto* const text = reinterpret_cast<const char*>(bytes + at + sizeof answer);
    take_answer(answer, {text, answer.text_bytes}, events);
    at += answer.size();
  }
  return true;
}

void Endpoint::serve(int from, const Request& request, const std::byte* payload) {
  Answer reply{.ticket = request.ticket, .lane = request.lane};
  Op op;
  op.pe = static_cast<std::uint32_t>(pe_);
  op.kind = request.kind;
  op.notify = request.notify;
  op.width = request.width;
  const bool by_staging_slot = request.staging_slot != network::Windows::kNoStagingSlot;
  op.bytes = by_staging_slot ? request.compare : request.bytes;
  op.remote = request.remote;
  op.signal = request.signal;
  op.value = request.value;
  op.compare = request.compare;
  op.result = reinterpret_cast<std::uint64_t>(&reply.old);
  op.local = op.kind == OpKind::kGet ? op.result : reinterpret_cast<std::uint64_t>(payload);
  const bool gets_word = op.kind == OpKind::kGet && !by_staging_slot;
  const bool fits = !gets_word || op.bytes <= sizeof reply.old;
  const Status done = fits ? execute_(op, from, request.staging_slot)
                           : Status::error(Code::kInvalidArgument, "that is more than a word");
  const std::string text = std::string(done.text()).substr(0, Answer::kMostText);
  reply.code = static_cast<std::uint8_t>(done.code());
  reply.text_bytes = static_cast<std::uint16_t>(text.size());
  reply.has_old = gets_word || is_fetching(op.kind) ? 1 : 0;
  ++served_;
  pending_.add(from, reply, text);
}

void Endpoint::take_answer(const Answer& answer, std::string text, std::vector<Event>& events) {
  Event& event = events.emplace_back();
  event.kind = Event::Kind::kAnswer;
  event.lane = answer.lane;
  event.flight = answer.ticket;
  event.answer = answer;
  event.failure = std::move(text);
}

bool Endpoint::answer_some(int pe) {
  std::array<std::byte, kInjectBytes> memory;
  MessageBatch batch(memory.data());
  const std::size_t count = pending_.copy(pe, batch, kInjectBytes);
  batch.address(keys_[static_cast<std::size_t>(pe)], pe_);
  const ssize_t result = ::fi_inject(fabric_->endpoint(), batch.memory(), batch.size(),
                                     addresses_[static_cast<std::size_t>(pe)]);
  if (result == -FI_EAGAIN) return false;
  if (result != 0)  // it is gone, or hears of nothing and says so itself
    LOG(kDebug, "transport", "ofi: {}", failed("answer", pe, result).text());
  pending_.drop(pe, count);
  go_along_ = false;
  went_alone_ = true;
  return true;
}

int Endpoint::file_to_sleep_on() {
  if (fabric_->file() < 0) return -1;
  const std::lock_guard lock(fabric_->mutex());
  fid* const queue = &fabric_->done()->fid;
  fid* all[] = {queue};
  const bool idle = pending_.none() && unposted_.empty();
  return idle && ::fi_trywait(fabric_->fabric(), all, 1) == FI_SUCCESS ? fabric_->file() : -1;
}

}  // namespace weft::ofi
