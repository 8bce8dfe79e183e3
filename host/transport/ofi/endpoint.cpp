#include "host/transport/ofi/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/signal_guard.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 14);  // of the interface that is spoken here

template <std::size_t kSize>
void copy_text(std::array<char, kSize>& to, std::string_view from) {
  std::copy_n(from.begin(), std::min(from.size(), kSize - 1), to.begin());
}

}  // namespace

// --- opening -------------------------------------------------------------------------------------

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Options& options) {
  ASSIGN_OR_RETURN(const Libfabric* const library, Libfabric::get(options.ofi_library));
  std::unique_ptr<Endpoint> made(new Endpoint(*library));
  RETURN_IF_ERROR(made->choose({options.ofi_provider, options.ofi_domain}));
  RETURN_IF_ERROR(made->make());
  return made;
}

// Operations under way name marks and memory of mine, so the endpoint goes first.
Endpoint::~Endpoint() { endpoint_.reset(); }

Status Endpoint::choose(const Wish& wish) {
  ASSIGN_OR_RETURN(const Info hints, needs(library_, wish));
  fi_info* list = nullptr;
  const SignalGuard keeps;  // the first call starts all providers
  const int result = library_.getinfo(kVersion, nullptr, nullptr, 0, hints.get(), &list);
  if (result == -FI_ENODATA)
    return Status::error(
        Code::kUnsupported,
        fmt::format("libfabric has no provider{} that does what ofi needs: reliable messages and "
                    "RMA with delivery complete; see fi_info -l, which lists them",
                    wish.provider == "auto" ? "" : " of WEFT_OFI_PROVIDER=" + wish.provider));
  if (result != 0) return failure(library_, "list networks", "this host", result);
  const Info all(list, FreeInfo{&library_});
  ASSIGN_OR_RETURN(const fi_info* const best, ofi::choose(list, wish));
  info_.reset(library_.dupinfo(best));
  if (info_ == nullptr) return Status::error(Code::kOutOfMemory, "no memory left for libfabric");
  info_->tx_attr->op_flags = 0;  // each operation says itself when it is complete
  copy_text(way_.text, show(*info_));
  copy_text(way_.protocol, info_->fabric_attr->prov_name);
  way_.format = info_->addr_format;
  way_.is_loopback = is_loopback(*info_) ? 1 : 0;
  return Status::ok();
}

Status Endpoint::make() {
  const std::string where = describe();
  ASSIGN_OR_RETURN(fabric_, owned<fid_fabric>(
                                library_,
                                [&](fid_fabric** made) {
                                  return library_.fabric(info_->fabric_attr, made, nullptr);
                                },
                                "open the fabric", where));
  ASSIGN_OR_RETURN(domain_, owned<fid_domain>(
                                library_,
                                [&](fid_domain** made) {
                                  return ::fi_domain(fabric_.get(), info_.get(), made, nullptr);
                                },
                                "open the domain", where));
  fi_av_attr names{};
  names.type = info_->domain_attr->av_type;
  ASSIGN_OR_RETURN(
      names_, owned<fid_av>(
                  library_,
                  [&](fid_av** made) { return ::fi_av_open(domain_.get(), &names, made, nullptr); },
                  "make a table of addresses", where));
  RETURN_IF_ERROR(make_queue());
  ASSIGN_OR_RETURN(endpoint_, owned<fid_ep>(
                                  library_,
                                  [&](fid_ep** made) {
                                    return ::fi_endpoint(domain_.get(), info_.get(), made, nullptr);
                                  },
                                  "open an endpoint", where));
  if (const int result = ::fi_ep_bind(endpoint_.get(), &names_->fid, 0); result != 0)
    return failure(library_, "bind the addresses", where, result);
  if (const int result = ::fi_ep_bind(endpoint_.get(), &done_->fid, FI_TRANSMIT | FI_RECV);
      result != 0)
    return failure(library_, "bind the completion queue", where, result);
  if (const int result = ::fi_enable(endpoint_.get()); result != 0)
    return failure(library_, "enable the endpoint", where, result);
  RETURN_IF_ERROR(read_name());
  return make_places();
}

// With a file to sleep on, where the provider has one.
Status Endpoint::make_queue() {
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.size = info_->tx_attr->size + info_->rx_attr->size;
  queue.wait_obj = FI_WAIT_FD;
  const auto make = [&](fid_cq** made) {
    return ::fi_cq_open(domain_.get(), &queue, made, nullptr);
  };
  auto with_file = owned<fid_cq>(library_, make, "make a completion queue", describe());
  if (with_file.is_ok()) {
    done_ = std::move(*with_file);
    if (::fi_control(&done_->fid, FI_GETWAIT, &file_) == 0) return Status::ok();
    file_ = -1;
    return Status::ok();
  }
  queue.wait_obj = FI_WAIT_NONE;
  ASSIGN_OR_RETURN(done_, owned<fid_cq>(library_, make, "make a completion queue", describe()));
  return Status::ok();
}

Status Endpoint::read_name() {
  std::size_t bytes = way_.name.size();
  if (const int result = ::fi_getname(&endpoint_->fid, way_.name.data(), &bytes); result != 0)
    return failure(library_, "ask for the endpoint's address", describe(), result);
  way_.name_bytes = static_cast<std::uint32_t>(bytes);
  return Status::ok();
}

Status Endpoint::make_places() {
  ASSIGN_OR_RETURN(buffer_, network::Buffer::make(kPlaces * kMessageBytes,
                                                  [this](std::byte* base, std::size_t bytes) {
                                                    return add_own_memory(base, bytes);
                                                  }));
  const std::lock_guard lock(mutex_);
  places_.resize(std::min<std::size_t>(kPlaces, info_->rx_attr->size));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].bytes = buffer_.base() + i * kMessageBytes;
    RETURN_IF_ERROR(post_place(places_[i]));
  }
  return Status::ok();
}

bool Endpoint::orders_data(std::uint64_t order, std::uint64_t bytes) const {
  const fi_ep_attr& limits = *info_->ep_attr;
  const std::uint64_t most =
      order == FI_ORDER_WAW ? limits.max_order_waw_size : limits.max_order_raw_size;
  return orders(order) && bytes <= most;
}

Status Endpoint::start(int pe, const std::vector<network::Peer>& peers, Execute execute) {
  const std::lock_guard lock(mutex_);
  pe_ = pe;
  execute_ = std::move(execute);
  unanswered_.resize(peers.size());
  heard_ = std::vector<std::atomic<std::uint64_t>>(peers.size());
  for (const network::Peer& peer : peers) {
    keys_.push_back(peer.key);
    addresses_.push_back(FI_ADDR_UNSPEC);
    if (!peer.usable) continue;
    Way way;
    std::memcpy(&way, peer.way.data(), std::min(sizeof way, peer.way.size()));
    const int added =
        ::fi_av_insert(names_.get(), way.name.data(), 1, &addresses_.back(), 0, nullptr);
    if (added != 1)
      return failure(
          library_,
          fmt::format("note the address of PE {} ({})", keys_.size() - 1, way.text.data()),
          describe(), added < 0 ? added : -FI_EINVAL);
  }
  return Status::ok();
}

Result<Registered> Endpoint::add_memory(std::byte* base, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const int mode = info_->domain_attr->mr_mode;
  const std::uint64_t access =
      FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  const std::string what = fmt::format("register {} bytes of memory", bytes);
  const std::uint64_t wanted = (mode & FI_MR_PROV_KEY) != 0 ? 0 : next_key_++;
  ASSIGN_OR_RETURN(Handle<fid_mr> made, owned<fid_mr>(
                                            library_,
                                            [&](fid_mr** memory) {
                                              return ::fi_mr_reg(domain_.get(), base, bytes, access,
                                                                 0, wanted, 0, memory, nullptr);
                                            },
                                            what, describe()));
  if ((mode & FI_MR_ENDPOINT) != 0) {
    int result = ::fi_mr_bind(made.get(), &endpoint_->fid, 0);
    if (result == 0) result = ::fi_mr_enable(made.get());
    if (result != 0) return failure(library_, what, describe(), result);
  }
  Registered registered;
  registered.address = (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uint64_t>(base) : 0;
  registered.key = ::fi_mr_key(made.get());
  registered.local_key = reinterpret_cast<std::uint64_t>(::fi_mr_desc(made.get()));
  registered.hold = std::shared_ptr<void>(made.release(), [this](void* memory) {
    const std::lock_guard closing(mutex_);
    ::fi_close(&static_cast<fid_mr*>(memory)->fid);
  });
  return registered;
}

Result<Registered> Endpoint::add_own_memory(std::byte* base, std::size_t bytes) {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return Registered{};
  return add_memory(base, bytes);
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
  return failure(library_, fmt::format("{} PE {}", what, pe), describe(), result);
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
  const std::lock_guard lock(mutex_);
  message.addr = addresses_[static_cast<std::size_t>(transfer.pe)];
  Posted& mark = take_mark();
  mark.transfer = transfer;
  mark.lane = lane;
  mark.flight = flight;
  message.context = static_cast<Mark*>(&mark);
  const ssize_t result = transfer.reads ? ::fi_readmsg(endpoint_.get(), &message, FI_COMPLETION)
                                        : ::fi_writemsg(endpoint_.get(), &message,
                                                        FI_COMPLETION | FI_DELIVERY_COMPLETE);
  if (result == 0) return Status::ok();
  free_marks_.push_back(&mark);
  return failed(transfer.reads ? "read from" : "write to", transfer.pe, result);
}

Status Endpoint::make_letters() {
  ASSIGN_OR_RETURN(
      network::Buffer memory,
      network::Buffer::make(kLetters * kMessageBytes, [this](std::byte* base, std::size_t bytes) {
        return add_own_memory(base, bytes);
      }));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kLetters; ++i) {
    Sent& letter = letters_.emplace_back(memory.base() + i * kMessageBytes, memory.key());
    free_letters_.push_back(&letter);
  }
  letter_memory_.push_back(std::move(memory));
  return Status::ok();
}

Result<Letter*> Endpoint::take_letter() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_letters_.empty()) {
        Sent* const letter = free_letters_.back();
        free_letters_.pop_back();
        letter->clear();
        return static_cast<Letter*>(letter);
      }
    }
    RETURN_IF_ERROR(make_letters());
  }
}

void Endpoint::give_letter(Letter& letter) {
  const std::lock_guard lock(mutex_);
  free_letters_.push_back(&static_cast<Sent&>(letter));
}

// A small one is copied by the provider; a larger one comes back when it is on its way.
Status Endpoint::send(int pe, Letter& letter) {
  auto& sent = static_cast<Sent&>(letter);
  const std::lock_guard lock(mutex_);
  sent.pe = pe;
  const std::size_t answers = add_answers(pe, letter);
  letter.address(keys_[static_cast<std::size_t>(pe)], pe_);
  const fi_addr_t there = addresses_[static_cast<std::size_t>(pe)];
  const bool is_small = letter.size() <= kInjectBytes;
  const ssize_t result =
      is_small ? ::fi_inject(endpoint_.get(), letter.memory(), letter.size(), there)
               : ::fi_send(endpoint_.get(), letter.memory(), letter.size(),
                           reinterpret_cast<void*>(sent.key), there, static_cast<Mark*>(&sent));
  if (result != 0) {
    letter.take_answers_back();
    return failed("send to", pe, result);
  }
  drop_answers(pe, answers);
  if (is_small) free_letters_.push_back(&sent);
  return Status::ok();
}

Status Endpoint::post_place(Place& place) {
  auto* const key = reinterpret_cast<void*>(buffer_.key());
  const ssize_t result = ::fi_recv(endpoint_.get(), place.bytes, kMessageBytes, key, FI_ADDR_UNSPEC,
                                   static_cast<Mark*>(&place));
  return result == 0 ? Status::ok() : failure(library_, "receive", describe(), result);
}

// --- completing ----------------------------------------------------------------------------------

bool Endpoint::poll(std::vector<Event>& events) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  bool found = false;
  const std::size_t served = served_;
  // What has come for me may be what the caller waits for: it is told before the next is looked
  // for.
  for (int batch = 0; batch < kBatches && served == served_; ++batch) {
    std::array<fi_cq_msg_entry, kBatch> done;
    const ssize_t count = ::fi_cq_read(done_.get(), done.data(), done.size());
    if (count == -FI_EAVAIL)
      take_error(events);
    else if (count <= 0)
      break;
    for (ssize_t i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)], events);
    found = true;
  }
  while (!unposted_.empty() && post_place(*unposted_.front()).is_ok()) unposted_.pop_front();
  // An answer may go along with what the caller sends next; nobody polls twice without a pause.
  if (!found || served_ - answered_ >= kMostUnanswered) answer_all();
  return found;
}

void Endpoint::take(const fi_cq_msg_entry& done, std::vector<Event>& events) {
  if (done.op_context == nullptr) return;
  auto* const mark = static_cast<Mark*>(done.op_context);
  if (mark->kind == Mark::Kind::kLetter) return free_letters_.push_back(static_cast<Sent*>(mark));
  if (mark->kind == Mark::Kind::kTransfer) {
    auto& posted = static_cast<Posted&>(*mark);
    hear(posted.transfer.pe);
    return give_back(posted, "", events);
  }
  auto& place = static_cast<Place&>(*mark);
  take_message(place.bytes, done.len, events);
  if (!post_place(place).is_ok()) unposted_.push_back(&place);
}

void Endpoint::take_error(std::vector<Event>& events) {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(done_.get(), &error, 0) != 1) return;
  std::array<char, 128> detail{};
  ::fi_cq_strerror(done_.get(), error.prov_errno, error.err_data, detail.data(), detail.size());
  std::string why = library_.strerror(error.err);
  if (detail[0] != '\0' && why != detail.data()) why += fmt::format(" ({})", detail.data());
  if (error.op_context == nullptr) {
    LOG(kDebug, "transport", "ofi: {}: {}", describe(), why);
    return;
  }
  auto* const mark = static_cast<Mark*>(error.op_context);
  if (mark->kind == Mark::Kind::kTransfer)
    return give_back(static_cast<Posted&>(*mark), std::move(why), events);
  if (mark->kind == Mark::Kind::kLetter) {
    auto* const letter = static_cast<Sent*>(mark);
    Event& event = events.emplace_back();
    event.kind = Event::Kind::kLost;
    event.pe = letter->pe;
    event.failure = std::move(why);
    return free_letters_.push_back(letter);
  }
  unposted_.push_back(static_cast<Place*>(mark));
}

void Endpoint::give_back(Posted& posted, std::string why, std::vector<Event>& events) {
  Event& event = events.emplace_back();
  event.lane = posted.lane;
  event.flight = posted.flight;
  event.transfer = posted.transfer;
  event.failure = std::move(why);
  free_marks_.push_back(&posted);
}

void Endpoint::hear(int pe) {
  heard_[static_cast<std::size_t>(pe)].store(now_ns(), std::memory_order_relaxed);
}

// A stranger's, or what is damaged, is dropped.
void Endpoint::take_message(const std::byte* bytes, std::size_t size, std::vector<Event>& events) {
  Header header;
  if (size < sizeof header || size > kMessageBytes) return;
  std::memcpy(&header, bytes, sizeof header);
  if (keys_.empty() || header.key != keys_[static_cast<std::size_t>(pe_)]) return;
  if (header.from >= keys_.size() || addresses_[header.from] == FI_ADDR_UNSPEC) return;
  const auto from = static_cast<int>(header.from);
  hear(from);
  std::size_t at = sizeof header;
  for (int i = 0; i < header.requests; ++i) {
    Request request;
    if (size - at < sizeof request) return;
    std::memcpy(&request, bytes + at, sizeof request);
    if (size - at < request.size()) return;
    serve(from, request, bytes + at + sizeof request);
    at += request.size();
  }
  for (int i = 0; i < header.answers; ++i, at += sizeof(Answer)) {
    Answer answer;
    if (size - at < sizeof answer) return;
    std::memcpy(&answer, bytes + at, sizeof answer);
    take_answer(answer, events);
  }
}

void Endpoint::serve(int from, const Request& request, const std::byte* payload) {
  Answer reply{.ticket = request.ticket, .lane = request.lane};
  Op op;
  op.pe = static_cast<std::uint32_t>(pe_);
  op.kind = request.kind;
  op.notify = request.notify;
  op.width = request.width;
  op.bytes = request.bytes;
  op.remote = request.remote;
  op.signal = request.signal;
  op.value = request.value;
  op.compare = request.compare;
  op.result = reinterpret_cast<std::uint64_t>(&reply.old);
  op.local = op.kind == OpKind::kGet ? op.result : reinterpret_cast<std::uint64_t>(payload);
  const bool fits = op.kind != OpKind::kGet || op.bytes <= sizeof reply.old;
  reply.refused = fits && execute_(op) ? 0 : 1;
  reply.has_old = op.kind == OpKind::kGet || is_fetching(op.kind) ? 1 : 0;
  ++served_;
  answer(from, reply);
}

// Together with the one before, if they say the same.
void Endpoint::answer(int to, const Answer& answer) {
  auto& [waiting, is_listed] = unanswered_[static_cast<std::size_t>(to)];
  if (!std::exchange(is_listed, true)) to_answer_.push_back(to);
  if (!waiting.empty()) {
    Answer& last = waiting.back();
    const bool plain = answer.refused + answer.has_old + last.refused + last.has_old == 0;
    if (plain && last.lane == answer.lane && last.ticket + last.count == answer.ticket &&
        last.count < UINT16_MAX) {
      ++last.count;
      return;
    }
  }
  waiting.push_back(answer);
}

void Endpoint::take_answer(const Answer& answer, std::vector<Event>& events) {
  Event& event = events.emplace_back();
  event.kind = Event::Kind::kAnswer;
  event.lane = answer.lane;
  event.flight = answer.ticket;
  event.answer = answer;
}

std::size_t Endpoint::add_answers(int pe, Letter& letter) const {
  std::size_t added = 0;
  for (const Answer& answer : unanswered_[static_cast<std::size_t>(pe)].answers) {
    if (!letter.has_room(sizeof answer)) break;
    letter.add(answer);
    ++added;
  }
  return added;
}

void Endpoint::drop_answers(int pe, std::size_t count) {
  auto& waiting = unanswered_[static_cast<std::size_t>(pe)].answers;
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
}

// Those of whom nothing can be sent to now stay for the next time.
void Endpoint::answer_all() {
  answered_ = served_;
  std::erase_if(to_answer_, [this](int pe) {
    Unanswered& unanswered = unanswered_[static_cast<std::size_t>(pe)];
    while (!unanswered.answers.empty())
      if (!answer_some(pe)) return false;
    unanswered.is_listed = false;
    return true;
  });
}

bool Endpoint::answer_some(int pe) {
  std::array<std::byte, kInjectBytes> memory;
  Letter letter(memory.data());
  auto& waiting = unanswered_[static_cast<std::size_t>(pe)].answers;
  const std::size_t most = (kInjectBytes - sizeof(Header)) / sizeof(Answer);
  const std::size_t count = std::min(waiting.size(), most);
  for (std::size_t i = 0; i < count; ++i) letter.add(waiting[i]);
  letter.address(keys_[static_cast<std::size_t>(pe)], pe_);
  const ssize_t result = ::fi_inject(endpoint_.get(), letter.memory(), letter.size(),
                                     addresses_[static_cast<std::size_t>(pe)]);
  if (result == -FI_EAGAIN) return false;
  if (result != 0)  // it is gone, or hears of nothing and says so itself
    LOG(kDebug, "transport", "ofi: {}", failed("answer", pe, result).text());
  drop_answers(pe, count);
  return true;
}

int Endpoint::file_to_sleep_on() {
  if (file_ < 0) return -1;
  const std::lock_guard lock(mutex_);
  fid* const queue = &done_->fid;
  fid* all[] = {queue};
  const bool idle = to_answer_.empty() && unposted_.empty();
  return idle && ::fi_trywait(fabric_.get(), all, 1) == FI_SUCCESS ? file_ : -1;
}

}  // namespace weft::ofi
